"""Two rules contradict each other, or they are two rules."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text.contradiction import rule_clauses
from common.text.contradiction.rule_opposition import find_opposition, index_words

OPPOSED = [
    (
        "Always run the migrations before deploying.",
        "Never run the migrations before deploying.",
    ),
    ("You must sign every commit.", "Commits must not be signed."),
    (
        "Squash commits when merging a pull request.",
        "Do not squash commits when merging a pull request.",
    ),
    (
        "Debug logging is required in handlers.",
        "Debug logging is forbidden in handlers.",
    ),
    ("Force pushes to main are allowed.", "Force pushes to main are banned."),
    (
        "Use mocks for the payment gateway in tests.",
        "Avoid mocks for the payment gateway in tests.",
    ),
    ("Enable strict mode in the compiler.", "Disable strict mode in the compiler."),
    ("Always quote shell variables.", "Shell variables should never be quoted."),
    ("Commit the lock file.", "The lock file must not be committed."),
    (
        "Include stack traces in error responses.",
        "Omit stack traces from error responses.",
    ),
    ("Ask the user before deleting files.", "Delete files without asking the user."),
    (
        "Get approval before you deploy to production.",
        "Deploy to production without waiting for approval.",
    ),
    (
        "Always confirm with the user before sending an email.",
        "Send emails on your own, no confirmation needed.",
    ),
    (
        "Never install packages without permission.",
        "Install packages whenever you like, do not ask.",
    ),
    (
        "Request permission before changing the schema.",
        "You can change the schema unprompted.",
    ),
    (
        "Ask first before running destructive commands.",
        "Run destructive commands without confirmation.",
    ),
    ("Do not push until the user approves.", "Push without asking."),
    ("Wait for sign-off before merging.", "Merge without sign-off."),
    ("Store money as integer cents.", "Store money as floats."),
    (
        "Amounts are kept in whole cents.",
        "Amounts are kept as decimals with two places.",
    ),
    ("Show prices with two decimals.", "Show prices in whole cents."),
    ("Represent prices as integer cents.", "Represent prices with two decimals."),
    ("Timeouts are given in milliseconds.", "Timeouts are given in seconds."),
    ("Store timestamps in UTC.", "Store timestamps in local time."),
    ("Indent Python code with tabs.", "Indent Python code with four spaces."),
    ("Name JSON fields in snake_case.", "Name JSON fields in camelCase."),
    ("User ids are strings.", "User ids are integers."),
    ("Database calls are async.", "Database calls are synchronous."),
    (
        "Rebase feature branches onto main.",
        "Merge main into feature branches instead of rebasing.",
    ),
    ("Use squash merges for pull requests.", "Use merge commits for pull requests."),
    ("Write configuration in YAML.", "Write configuration in JSON."),
    ("The dev server listens on port 8080.", "The dev server listens on port 3000."),
    (
        "Set the request timeout to 30 seconds.",
        "Set the request timeout to 60 seconds.",
    ),
    ("Retry failed uploads three times.", "Retry failed uploads five times."),
    ("Use Python 3.11.", "Use Python 3.13."),
    ("The default branch is `main`.", "The default branch is `develop`."),
    ("Put tests in `tests/`.", "Put tests in `spec/`."),
    ("Use pnpm to install dependencies.", "Use npm to install dependencies."),
    ("Line length is 88.", "Line length is 100."),
    ("All endpoints require authentication.", "No endpoint requires authentication."),
    ("Only maintainers may merge.", "Everyone may merge."),
    ("Run the linter before the tests.", "Run the tests before the linter."),
    ("Write the changelog entry first.", "Write the changelog entry last."),
    ("Sort results in ascending order.", "Sort results in descending order."),
    ("Raise an exception on invalid input.", "Return None on invalid input."),
    ("Keep comments in generated code.", "Strip comments from generated code."),
    ("Use UUIDs for primary keys.", "Use auto-increment integers for primary keys."),
    ("Prefer composition over inheritance.", "Prefer inheritance over composition."),
    ("Use httpx for HTTP calls.", "Use requests for HTTP calls."),
    ("Secrets go into environment variables.", "Secrets go into the config file."),
    ("Test coverage must be at least 80 %.", "Test coverage must be at least 95 %."),
    ("Cache the exchange rates.", "Do not cache the exchange rates."),
    ("Run jobs in parallel.", "Run jobs one after another, sequentially."),
    ("Type hints are mandatory.", "Type hints are optional."),
    ("Delete branches after merging.", "Keep branches after merging."),
    ("Never log personal data.", "Log personal data for debugging."),
    ("Use single quotes for strings.", "Use double quotes for strings."),
    (
        "Pin dependencies to exact versions.",
        "Never pin dependencies to exact versions.",
    ),
    ("Deploy on Fridays is fine.", "Never deploy on Fridays."),
    ("Write commit messages in English.", "Write commit messages in German."),
    (
        "Execute migrations automatically on deploy.",
        "Ask before executing migrations on deploy.",
    ),
    ("Soft-delete customers.", "Hard-delete customers."),
    ("Paginate with cursors.", "Paginate with offsets."),
    (
        "Handle errors with exceptions, not return codes.",
        "Handle errors with return codes.",
    ),
    ("Every public function gets a docstring.", "Public functions have no docstring."),
    (
        "It is forbidden to call the billing API from tests.",
        "Call the billing API from tests.",
    ),
    (
        "You may merge your own pull requests.",
        "You must not merge your own pull requests.",
    ),
    ("Keep the session cookie HttpOnly.", "The session cookie should not be HttpOnly."),
    ("Vendor third-party code.", "Do not vendor third-party code."),
    ("Turn on query logging in development.", "Turn off query logging in development."),
    (
        "Automatic retries are permitted for POST requests.",
        "Automatic retries are prohibited for POST requests.",
    ),
    ("Check in generated files.", "Generated files must never be checked in."),
    ("Rate limits have to be respected.", "Rate limits can be ignored."),
    ("Before you drop a table, ask the owner.", "Drop tables without asking anybody."),
    ("Changing prices requires approval by finance.", "Change prices on your own."),
    (
        "Never restart the server unless the user told you to.",
        "Restart the server whenever you see fit.",
    ),
    ("Let the user confirm each payment.", "Make payments without confirmation."),
    (
        "Always check with the team before upgrading dependencies.",
        "Upgrade dependencies without checking with the team.",
    ),
    (
        "Do not write to the wiki without permission.",
        "Write to the wiki freely, no permission is needed.",
    ),
    ("Get the go-ahead before closing tickets.", "Close tickets unprompted."),
    (
        "All amounts in the API are integer cents.",
        "All amounts in the API are decimal strings with two places.",
    ),
    ("Invoice totals are floats.", "Invoice totals are whole cents."),
    ("Money is a Decimal with two decimals.", "Money is an int of cents."),
    ("Persist prices as cents.", "Persist prices as dollars with two decimals."),
    ("Durations are milliseconds.", "Durations are seconds."),
    ("Log times in UTC.", "Log times in local time."),
    ("Dates use ISO 8601.", "Dates use Unix timestamps."),
    ("Use camelCase for Python variables.", "Use snake_case for Python variables."),
    ("Table names are plural.", "Table names are singular."),
    ("Write handlers as async functions.", "Write handlers as sync functions."),
    ("History is linear: rebase before merging.", "Never rebase before merging."),
    ("Lint with ruff.", "Lint with flake8."),
    ("Sessions live in Redis.", "Sessions live in Postgres."),
    ("Our queue is RabbitMQ.", "Our queue is Kafka."),
    ("Deploy from `main`.", "Deploy from `release`."),
    ("Page size is 50.", "Page size is 20."),
    (
        "The access token expires after 15 minutes.",
        "The access token expires after 24 hours.",
    ),
    ("At most 3 reviewers per pull request.", "At most 5 reviewers per pull request."),
    ("Target Node 18.", "Target Node 22."),
    ("Config lives in `config/app.yml`.", "Config lives in `settings/app.yml`."),
    ("Errors are returned as problem+json.", "Errors are returned as plain text."),
    ("Each service has its own database.", "All services share one database."),
    (
        "Nobody may edit the main branch directly.",
        "Anyone may edit the main branch directly.",
    ),
    ("None of the tests may touch the network.", "All tests may touch the network."),
    (
        "Format the code before running the tests.",
        "Format the code after running the tests.",
    ),
    (
        "Close the transaction before sending the mail.",
        "Send the mail before closing the transaction.",
    ),
    ("Oldest entries come first.", "Newest entries come first."),
    (
        "Fail fast when the config is missing.",
        "Fall back to defaults when the config is missing.",
    ),
    ("Logs go to stdout.", "Logs go to a file."),
    ("Prefer early returns.", "Avoid early returns."),
    ("Use feature flags for new screens.", "New screens ship without feature flags."),
    ("Mask emails in logs.", "Show emails in logs."),
    ("Hash passwords with bcrypt.", "Hash passwords with argon2."),
    ("Inline styles are ok.", "No inline styles."),
    ("Write tests first.", "Write tests last."),
    ("Work on one ticket at a time.", "Work on several tickets in parallel."),
    ("Use optimistic locking for orders.", "Use pessimistic locking for orders."),
    ("IDs are sequential integers.", "IDs are random UUIDs."),
    ("Every commit must build.", "Commits need not build."),
    ("Use the ORM for reports.", "Use raw SQL for reports."),
    ("Tabs, not spaces.", "Spaces, not tabs."),
    ("Reply in German.", "Reply in English."),
]

HARMLESS = [
    ("Never force-push to main.", "Force-push to feature branches after a rebase."),
    ("Use mocks in unit tests.", "Do not use mocks in end-to-end tests."),
    ("Set the payment timeout to 30 seconds.", "Set the search timeout to 5 seconds."),
    ("Run `ruff check` before committing.", "Run `mypy` before committing."),
    ("Store money as integer cents.", "Store weights as floats."),
    (
        "Store money as integer cents.",
        "Format money with two decimals in the invoice PDF.",
    ),
    ("Use JSON for API responses.", "Use YAML for CI configuration."),
    ("Ask the user before deleting files.", "Create new files without asking."),
    ("Use port 8080 for the web server.", "Use port 5432 for the database."),
    ("Retry uploads three times.", "Retry downloads five times."),
    (
        "When calling `get_order`, pass `order_id`.",
        "When calling `get_user`, pass `user_id`.",
    ),
    ("Run the tests before pushing.", "Run the tests and the linter before pushing."),
    ("Enable debug logging on staging.", "Disable debug logging in production."),
    ("Always validate input.", "Never trust input from users."),
    ("Use tabs in Makefiles.", "Use spaces in Python files."),
    ("Use snake_case in Python.", "Use camelCase in JavaScript."),
    ("Never commit secrets.", "Keep secrets in the vault."),
    ("Never use npm.", "Use pnpm."),
    ("Use pnpm instead of npm.", "Use pnpm to install dependencies."),
    ("Use pnpm instead of npm.", "Do not use npm."),
    ("Log requests at info level.", "Log responses at debug level."),
    ("Delete temporary files after the run.", "Keep the log files after the run."),
    ("Write unit tests for parsers.", "Write integration tests for parsers."),
    ("Read the docs before calling an API.", "Read the error message before retrying."),
    ("Use async clients in the web app.", "Use sync clients in the migration scripts."),
    ("Merge with squash on main.", "Rebase local branches before review."),
    ("Never disable tests.", "Keep tests enabled."),
    ("Do not disable certificate checks.", "Enable certificate checks."),
    ("Timeouts are in seconds.", "Intervals are in milliseconds."),
    ("Cache product pages for 10 minutes.", "Cache exchange rates for 1 hour."),
    ("Add an index for foreign keys.", "Remove unused indexes."),
    ("Open the file in text mode.", "Close the file after reading."),
    ("Start the worker with `celery`.", "Stop the worker with Ctrl-C."),
    ("Use Postgres for orders.", "Use Redis for sessions."),
    ("Never edit applied migrations.", "Add a new migration for each schema change."),
    ("Ask before changing public APIs.", "Document public APIs."),
    ("Line length is 88.", "Indent with 4 spaces."),
    ("Admins may delete accounts.", "Guests may not delete accounts."),
    ("Use `uv` in CI.", "Use `pip` in the Dockerfile."),
    ("Show errors to the user in plain words.", "Log stack traces for developers."),
    ("Do not deploy on Fridays.", "Deploy on weekdays before noon."),
    ("Reject requests without a token.", "Accept requests with a valid token."),
    ("Return 404 for unknown ids.", "Return 403 for forbidden ids."),
    ("Use UTC in the database.", "Show local time in the UI."),
    ("Prefer small pull requests.", "Prefer descriptive pull request titles."),
    ("Do not use global state.", "Use dependency injection."),
    ("Write the test first.", "Refactor last."),
    ("Keep functions short.", "Keep names long enough to be clear."),
    ("Public methods need docstrings.", "Private methods need no docstrings."),
    ("Increase the pool size for batch jobs.", "Decrease the batch size for imports."),
    (
        "Use a transaction for multi-row writes.",
        "Do not call the network inside a transaction.",
    ),
    ("Never log passwords.", "Hash passwords with argon2."),
    (
        "Run migrations before starting the app.",
        "Back up the database before running migrations.",
    ),
    ("Use feature flags for risky changes.", "Remove feature flags after rollout."),
    ("The API returns cents.", "The report shows the number of orders."),
    (
        "Use `git rebase` to update your branch.",
        "Use `git merge --no-ff` for release branches.",
    ),
    (
        "Lock the row before updating the balance.",
        "Release the lock before calling the bank.",
    ),
    ("Accept invoices up to 10 MB.", "Accept images up to 5 MB."),
    ("Check the response status.", "Never ignore the response status."),
    ("Include the order id in logs.", "Exclude health checks from logs."),
    ("Round totals half-even.", "Do not round intermediate results."),
    ("Use Docker for local development.", "Use Kubernetes in production."),
    ("Ask for help when stuck.", "Do small fixes without asking."),
    ("Step 1: create the user.", "Step 2: create the project."),
    ("Ask the user before deleting files.", "Ask the user before sending mail."),
    ("Use tabs in Go.", "Use two spaces in YAML."),
    (
        "Round prices to two decimals on the receipt.",
        "Keep exchange rates with six decimals.",
    ),
    ("Timeout for the mail server is 10 s.", "Timeout for the bank API is 60 s."),
    (
        "Always run migrations in a transaction.",
        "Never run backfills in a transaction.",
    ),
    ("Sign release tags.", "Commits on feature branches need not be signed."),
    ("Use pytest for unit tests.", "Use playwright for browser tests."),
    ("Write the tests with pytest.", "Run the tests with tox."),
    ("Return cents from the API.", "Convert cents to dollars in the UI."),
    (
        "Use UTC for stored times.",
        "Convert times to the user's zone before showing them.",
    ),
    ("Log errors with stack traces.", "Do not log request bodies."),
    ("Delete merged branches.", "Never delete release branches."),
    ("Retry on 503.", "Do not retry on 400."),
    ("Use sync code in scripts.", "Use async code in views."),
    ("Postgres stores the orders.", "Redis caches the sessions."),
    ("Pin production dependencies.", "Leave dev dependencies unpinned."),
    ("Pull before you push.", "Push after the tests pass."),
    ("Do not use print for logging.", "Use structlog for logging."),
    ("Don't mock what you don't own.", "Mock the clock."),
    ("Send mails from the worker.", "Do not send mails from the web process."),
    ("Set cache TTL to 5 minutes for products.", "Set cache TTL to 1 day for images."),
    ("Version 1 of the API is frozen.", "Version 2 of the API is in beta."),
    ("Use `make test` to run the tests.", "Use `make lint` to run the linter."),
    ("Limit uploads to 10 MB.", "Limit downloads to 100 MB."),
    ("Add a test for each bug fix.", "Add a changelog line for each feature."),
    ("Do not catch Exception.", "Catch the narrowest exception."),
    ("Ask for a review before merging.", "Merge small typo fixes without a review."),
    ("Prefer composition.", "Avoid deep inheritance."),
    (
        "The staging database is reset nightly.",
        "The production database is never reset.",
    ),
    ("Never sleep in tests.", "Freeze the time in tests."),
    ("Escape HTML in templates.", "Do not escape text in JSON responses."),
    ("Run containers as a non-root user.", "Do not run containers as root."),
    ("Always close files.", "Use context managers for files."),
    ("Prices include tax.", "Orders have a shipping address."),
    ("Validate on the server.", "Validate on the client too."),
    ("Use the staging key in tests.", "Use the live key in production."),
    ("Store avatars in S3.", "Store invoices on disk."),
    ("Only owners may delete projects.", "Writers may create entries."),
    ("Use id `42` for the demo user.", "Use id `43` for the demo project."),
]


def test_it_finds_what_two_rules_contradict_each_other_about():
    wrong = [
        (one, other)
        for one, other in OPPOSED
        if not (find_opposition(one, other) and find_opposition(other, one))
        or not index_words(one) & index_words(other)
    ]

    assert not wrong


def test_it_keeps_two_rules_apart():
    both_ways = [*HARMLESS, *((other, one) for one, other in HARMLESS)]

    assert not [pair for pair in both_ways if find_opposition(*pair)]


def test_no_rule_contradicts_itself():
    texts = {text for pair in OPPOSED + HARMLESS for text in pair}

    assert not [text for text in texts if find_opposition(text, text)]


def test_two_cases_are_two_rules():
    one, other = "Always squash commits.", "Never squash commits."

    assert find_opposition(one, other)
    assert not find_opposition(
        one, other, condition="on main", other_condition="in a fork"
    )
    assert find_opposition(one, other, condition="on main", other_condition="on main")


def test_the_first_sentence_names_the_case_of_all():
    one = "When a build is red, stop merging. Ask the user before each deployment."
    other = "When a build is green, merge. Deploy without asking the user."

    assert find_opposition(one, other) is None


@given(st.text(max_size=300), st.text(max_size=300))
def test_it_reads_any_text_and_does_not_depend_on_the_order(one, other):
    assert bool(find_opposition(one, other)) == bool(find_opposition(other, one))


@pytest.mark.parametrize(
    "part", ["never ask ", "not , ", "use x instead of y. ", "a-", "without the a "]
)
def test_its_cost_grows_with_the_length(part):
    def cost(number):
        rule_clauses.read.cache_clear()
        started = time.process_time()
        find_opposition(part * number, f"Never {part * number}")
        return time.process_time() - started

    cost(100)
    assert cost(20_000) < 50 * max(cost(500), 0.002)


class TestNumbersThatAreNames:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Pilots board at buoy 1.", "Pilots board at buoy 2."),
            ("Leave the keys in locker 12.", "Leave the keys in locker 14."),
            ("Read tide table 1 first.", "Read tide table 2 first."),
        ],
    )
    def test_two_places_are_two_rules(self, one, other):
        assert find_opposition(one, other) is None

    def test_the_number_of_a_setting_is_its_value(self):
        assert find_opposition(
            "The proxy listens on port 8080.", "The proxy listens on port 8081."
        )
