from __future__ import annotations

from django.db import models


class Corpus(models.Model):
    """The last count of the rows of one kind in one project."""

    id = models.BigAutoField(primary_key=True)
    project_id = models.UUIDField()
    name = models.CharField(max_length=32)
    documents = models.PositiveIntegerField()
    # The newest row that was counted; rows with larger ids are newer.
    newest_id = models.UUIDField(null=True)
    counted_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "corpora"
        ordering = ["project_id", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["project_id", "name"], name="corpus_once_per_project"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.project_id}"


class LexemeStat(models.Model):
    """The number of documents of a corpus that hold a lexeme; a count of 1 is not stored."""

    id = models.BigAutoField(primary_key=True)
    corpus = models.ForeignKey(
        Corpus, on_delete=models.CASCADE, related_name="lexemes", db_index=False
    )
    lexeme = models.CharField(max_length=2046)
    df = models.PositiveIntegerField()

    class Meta:
        ordering = ["corpus_id", "lexeme"]
        constraints = [
            models.UniqueConstraint(
                fields=["corpus", "lexeme"], name="lexeme_once_per_corpus"
            )
        ]

    def __str__(self) -> str:
        return f"{self.lexeme}: {self.df}"
