from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import secrets

# Joined at run time, so that no scanner takes this file for a leak.
LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF" * 4
HEX = "0123456789abcdef" * 8

TOKENS = [
    ("openai-key", "sk-" + LETTERS[:48]),
    ("openai-key", "sk-proj-" + LETTERS[:60]),
    ("anthropic-key", "sk-ant-" + "api03-" + LETTERS[:80]),
    ("github-token", "ghp_" + LETTERS[:36]),
    ("github-token", "gho_" + LETTERS[:36]),
    ("github-token", "github_pat_" + LETTERS[:22] + "_" + LETTERS[:59]),
    ("gitlab-token", "glpat-" + LETTERS[:20]),
    ("slack-token", "xoxb-" + "123456789012-123456789012-" + LETTERS[:24]),
    ("aws-key", "AKIA" + "IOSFODNN7ABCDEFG"),
    ("google-key", "AIza" + LETTERS[:35]),
    ("stripe-key", "sk_live_" + LETTERS[:24]),
    ("stripe-key", "rk_test_" + LETTERS[:99]),
    ("npm-token", "npm_" + LETTERS[:36]),
    ("pypi-token", "pypi-" + "AgEIcHlwaS5vcmc" + LETTERS[:80]),
    ("huggingface-token", "hf_" + LETTERS[:34]),
    ("sendgrid-key", "SG." + LETTERS[:22] + "." + LETTERS[:43]),
    ("twilio-key", "SK" + HEX[:32]),
    ("telegram-token", "123456789:" + "AAE" + LETTERS[:32]),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + LETTERS[:43]),
    ("agent-memory-key", "am_" + LETTERS[:41] + "-_"),
]

NAMED = [
    (
        "slack-webhook",
        "https://hooks.slack.com/",
        "services/T0AA/B0BB/" + LETTERS[:24],
        " ",
    ),
    ("password", 'password: "', "hunter2", '"'),
    ("password", "DB_PASSWORD=", "s3cr3t-Pa55!", "\n"),
    ("password", "{'passwd': '", "correcthorse", "'}"),
    ("password", '{\\"password\\": \\"', "tr0ub4dor", '\\"}'),
    ("password", "mysql --password ", "p4ssw0rd9", " -h db"),
    ("api-key", "api_key=", "9f8e7d6c5b4a", "&page=2"),
    ("api-key", "X-Api-Key: ", "Zx81Cv92Bn03", ""),
    ("token", "export SERVICE_TOKEN='", "Zx81Cv92Bn03", "'"),
    ("secret", "client_secret = ", "Zx81Cv92Bn03Qw", " # set"),
    ("secret", "aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPx", ""),
    ("authorization", "Authorization: Bearer ", "abc123def456ghi", "\r\n"),
    ("authorization", "'Authorization': 'Basic ", "dXNlcjpwYXNzd29yZDE=", "'"),
    ("authorization", "send Bearer ", "abc123def456ghi", " along"),
    ("authorization", "curl -u alice:", "wonder1and", " https://example.org"),
    ("url-password", "postgres://app:", "hunter2", "@db:5432/app"),
    ("url-password", "redis://:", "hunter", "@cache"),
    ("url-password", "https://bob:", "p@ss!w$rd", "@example.org/path"),
]

HARMLESS = [
    "commit 4a58db1ab1d6f20360712f28767c626ceca8491e fixed it",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4",
    "Users forget their password; the password must have 12 characters.",
    "token_budget=4000 max_tokens=8192 tokens: 15000",
    "password = get_password(user)",
    'password = os.environ["DB_PASSWORD2"]',
    "token = request.headers.get('X-Token1')",
    "password=settings.DATABASE_PASSWORD",
    'password: "<your password here>"',
    "api_key=YOUR_API_KEY_1 and api_key=${API_KEY_2}",
    "password: str = Field(min_length=8)",
    '{"password": "required", "token": "string"}',
    "postgres://user:${DB_PASSWORD}@db/app and https://host:8080/a@b",
    "private_key: /etc/ssl/private/server1.key",
    "the key primary_key=user_id, foreign_key: order_id2",
    "Bearer authentication is described in RFC 6750.",
    "secret santa: everybody draws a name",
    "task-0123456789abcdef0123456789abcdef ran",
    "call am_i_allowed_to_read_this_file() first",
    "docker run -u 1000:1000 app",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
]

PEM = (
    "-----BEGIN RSA " + "PRIVATE KEY-----\n" + f"{LETTERS[:64]}\n" * 3 + "-----END RSA "
    "PRIVATE KEY-----"
)


class TestTokens:
    @pytest.mark.parametrize(("kind", "token"), TOKENS)
    def test_it_masks_a_token_inside_a_sentence(self, kind, token):
        masked = secrets.mask(f"We used {token} for it.")

        assert masked.text == f"We used [secret:{kind}] for it."
        assert masked.kinds == (kind,)

    @pytest.mark.parametrize(("kind", "token"), TOKENS)
    def test_it_masks_a_token_in_escaped_json(self, kind, token):
        masked = secrets.mask('{"log": "start\\n' + token + '\\nend"}')

        assert token not in masked.text

    def test_it_names_each_kind_once_in_order_of_appearance(self):
        text = f"{TOKENS[7][1]} {TOKENS[3][1]} {TOKENS[7][1]}"

        assert secrets.mask(text).kinds == ("slack-token", "github-token")

    def test_it_masks_the_rest_of_a_longer_word_too(self):
        token = "ghp_" + LETTERS[:36] + "tail9"

        assert secrets.mask(token).text == "[secret:github-token]"


class TestNamedValues:
    @pytest.mark.parametrize(("kind", "before", "value", "after"), NAMED)
    def test_it_masks_the_value_and_keeps_its_name(self, kind, before, value, after):
        masked = secrets.mask(before + value + after)

        assert masked.text == f"{before}[secret:{kind}]{after}"
        assert masked.kinds == (kind,)

    def test_a_known_token_is_called_by_its_own_kind(self):
        token = "ghp_" + LETTERS[:36]

        assert secrets.mask(f'token = "{token}"').text == (
            'token = "[secret:github-token]"'
        )


class TestPrivateKeys:
    def test_it_masks_the_whole_block(self):
        masked = secrets.mask(f"before\n{PEM}\nafter")

        assert masked.text == "before\n[secret:private-key]\nafter"

    def test_it_masks_a_block_on_one_escaped_line(self):
        masked = secrets.mask('{"key": "' + PEM.replace("\n", "\\n") + '"}')

        assert masked.text == '{"key": "[secret:private-key]"}'

    def test_it_masks_a_block_cut_off_before_its_end(self):
        cut = PEM[:150]

        masked = secrets.mask(f"{cut}\n\nThen the log goes on.")

        assert LETTERS[:40] not in masked.text
        assert "Then the log goes on." in masked.text


class TestHarmlessText:
    @pytest.mark.parametrize("text", HARMLESS)
    def test_it_leaves_ordinary_text_alone(self, text):
        assert secrets.mask(text) == secrets.MaskedText(text=text, kinds=())


class TestMaskingTwice:
    @given(
        st.lists(
            st.one_of(
                st.sampled_from([token for _, token in TOKENS]),
                st.sampled_from([b + v + a for _, b, v, a in NAMED]),
                st.sampled_from([PEM, PEM[:90], "[secret:token]", "password=", "://"]),
                st.sampled_from(["token: ", "am_", "sk-", "-----", "@", '"', "\\n"]),
                st.text(string.printable, max_size=12),
            ),
            max_size=8,
        )
    )
    def test_it_changes_nothing_more(self, parts):
        once = secrets.mask("".join(parts))

        again = secrets.mask(once.text)

        assert again.text == once.text

    def test_it_leaves_no_part_of_a_secret_in_a_list_of_them(self):
        masked = secrets.mask(",".join(token for _, token in TOKENS))

        assert LETTERS[:20] not in masked.text


@given(st.text(string.ascii_letters + string.digits + "-_", min_size=8, max_size=8))
def test_the_public_beginning_of_our_own_keys_is_no_secret(prefix):
    assert secrets.mask(f"key:am_{prefix}").text == f"key:am_{prefix}"
