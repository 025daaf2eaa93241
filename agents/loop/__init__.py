"""Think, act, observe until there is an answer; working memory stays bounded."""
