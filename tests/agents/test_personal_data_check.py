"""Tables of texts: what the check of personal data must find, and what it must leave."""

from __future__ import annotations

import pytest

from agents.tiers.personal_data_check import PersonalData, find_personal_data


def wide(text):
    """Write a text in the full-width forms of its characters."""
    return "".join(
        chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text
    )


EMAILS = [
    "Write to alice@example.org for access.",
    "Her address is a.b+c%d@mail.example.co.uk.",
    "alice (at) example (dot) org maintains it",
    "alice[at]example.org",
    wide("The owner is alice@example.org."),
    "al\u200bice@example.org",
    f"{'a' * 70}@example.org",
]
CARDS = [
    "She pays with 4111 1111 1111 1111.",
    "card 4111-1111-1111-1111 12/27 123",
    "5500005555555559",
    "American Express 3782 822463 10005",
    "4111\u20111111\u20111111\u20111111",
    wide("4111111111111111"),
    "order 17, then 4012888888881881",
    "2223003122003222",
]
PHONES = [
    "Call +49 30 901820.",
    "+1 (650) 253-0000",
    "+442079460000",
    "0044 20 7946 0000",
    "(212) 555-0123 is the desk",
    "415.555.2671",
    "212-555-0199",
    "Her number is 0171 1234567",
    "030/9018200",
    "Tel.: 901820",
    "mobile number: 555 0123",
    "+49\u00a030\u2011901820",
]
IDENTIFIERS = [
    "The SSN is 078-05-1120.",
    "IBAN DE89 3704 0044 0532 0130 00",
    "GB82WEST12345698765432",
]
NAMED = [
    "Anna Schmidt is customer 48213.",
    "The passport of Anna Schmidt is C01X00T47.",
    "Anna Schmidt's passport number is C01X00T47",
    "Customer Anna has the account number 99120",
    "Mr. Jones, reservation EHGLP3",
    "Jean-Luc Picard (4711081)",
    "María Núñez was born on 3 May 1980",
    "Order 4821 belongs to Siobhan O'Neill",
    "Employee ID 33812: Tom McDonald",
    "Anna Schmidt lives at 12 Mill Lane",
]
ADDRESSES = [
    "The user's home is Gartenstrasse 5 in Berlin.",
    "Sie wohnt in der Berliner Straße 12a.",
    "Send it to 221B Baker Street.",
    "She moved to 4 St James Square.",
    "The user lives at 12 mill lane.",
    "The parcel goes to 12 MILL LANE or 7 baker street.",
    "Via Roma 2, Milano",
    "The user lives at via Roma 12.",
    "Indirizzo: via Roma 12",
    "Elle habite 14 rue Lepic à Paris.",
    "Vive en la calle Mayor 7.",
    "Abita in via Giuseppe Verdi 12.",
    "Hij woont aan de Keizersgracht 174.",
    "Han bor på Storgatan 5.",
    "Mieszka przy ul. Długiej 8.",
    "Он живёт на улице Ленина, д. 5.",
    "Evi Atatürk Caddesi No: 12.",
    "他住在中山路123号。",
    "住所は銀座4丁目です。",
    "그의 집은 세종대로 110에 있다.",
]
SPECIAL = [
    "The user's doctor says that the user has diabetes.",
    "Anna is pregnant.",
    "The user is disabled.",
    "His son has been partially disabled since 2010.",
    "Tom Miller was diagnosed last week.",
    "Die Frau des Nutzers ist schwanger.",
    "L'utilisateur est diabétique.",
    "El usuario es musulmán.",
    "Наш пользователь болен.",
    "用户患有糖尿病。",
]
ALLOWED = [
    "The user connects to the database via port 5432.",
    "Deploys go via Docker Compose 2.",
    "Requests reach the API via HTTP 2, and the service listens via TLS 1.3",
    "The client library authenticates via OAuth 2 and people log in via Google Workspace 7",
    "The user runs tests via pytest 8.",
    "The backup is on a 2 TB hard drive, later on a 4 TB External Drive.",
    "The app has 2 worker lanes; 1 fast lane",
    "The user's pull request waits in 1 review court",
    "The job draws 3 points per square.",
    "The migration is 2 weeks down the road.",
    "The user's service is disabled at night",
    "The user has disabled telemetry; Secure Boot is disabled.",
    "Telemetry is disabled.",
    "The diabetes dashboard listens on port 8080.",
    "The users table has a column for the tax rate.",
    "The route is 5 hops long and the court case is closed.",
    "Die Via-Datei 7 wird gelesen.",
    "The billing service listens on port 8443.",
    "The database is PostgreSQL 18.4 with pgvector 0.8.5.",
    "The release was on 2026-01-31 at 10:15:00.",
    "The user prefers answers in German.",
    "Anna Schmidt leads the billing team.",
    "Anna leads a team of 12.",
    "The build takes 1764108000000 ms since 1970.",
    "Order 48213 was shipped to Berlin.",
    "The repository is git@github.com:acme/billing.git.",
    "The run has the id 0192b3c4-5d6e-7f80-9a1b-2c3d4e5f6071.",
    "The address of the server is 192.168.100.1234 or 10.0.0.1.",
    "The limit is 1,000,000 rows and 20,000 characters.",
    "Windows Server 2022 needs build 20348.",
    "The commit 4f2a91c08 fixed it in version 1.2.3.4567.",
    "Use of 16 digits such as 4111111111111112 fails the check sum.",
    "The table has 1234567890123456 rows.",
    "The function is decorated with @pytest.fixture.",
    "The package is react@18.2.0.",
    "The range is 5432-5439.",
    "The call on 2026-01-31 lasted 40 minutes.",
]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (PersonalData.EMAIL, EMAILS),
        (PersonalData.CARD, CARDS),
        (PersonalData.PHONE, PHONES),
        (PersonalData.IDENTIFIER, IDENTIFIERS),
        (PersonalData.NAMED, NAMED),
        (PersonalData.ADDRESS, ADDRESSES),
        (PersonalData.SPECIAL, SPECIAL),
    ],
)
def test_it_finds_each_kind(kind, texts):
    found = {text: find_personal_data(text) for text in texts}

    assert found == dict.fromkeys(texts, kind)


def test_it_finds_nothing_in_facts_about_things():
    found = {text: find_personal_data(text) for text in ALLOWED}

    assert found == dict.fromkeys(ALLOWED)
