from __future__ import annotations

from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access import sign_in_limits
from embedded import first_start

LOGIN = "admin:login"
PASSWORD = "a long phrase of harbours"


@pytest.fixture
def account(db):
    return User.objects.create_user("alice", password=PASSWORD, is_staff=True)


def sign_in(browser, password=PASSWORD, username="alice"):
    return browser.post(reverse(LOGIN), {"username": username, "password": password})


class TestSigningIn:
    def test_it_goes_to_the_first_page(self, account):
        response = sign_in(Client())

        assert response.status_code == 302
        assert response.url == reverse("admin:index")

    def test_it_goes_to_the_page_that_the_person_opened(self, account):
        wanted = reverse("admin:memories_memory_changelist")
        browser = Client()
        asked = browser.get(wanted)

        response = browser.post(
            asked.url, {"username": "alice", "password": PASSWORD, "next": wanted}
        )

        assert response.url == wanted

    def test_it_refuses_a_wrong_password_and_people_without_staff_status(self, account):
        assert sign_in(Client(), "wrong").status_code == 200

        account.is_staff = False
        account.save()
        assert sign_in(Client()).status_code == 200

    def test_it_locks_after_too_many_failures(self, account, settings):
        settings.AXES_FAILURE_LIMIT = 2
        browser = Client()

        for _ in range(2):
            sign_in(browser, "wrong")

        assert sign_in(browser).status_code == 429

    def test_behind_a_proxy_a_stranger_locks_nobody_else_out(self, account, settings):
        settings.AXES_FAILURE_LIMIT = 2
        settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": 1}
        stranger = Client(headers={"x-forwarded-for": "1.2.3.4"})

        for _ in range(2):
            sign_in(stranger, "wrong")

        assert sign_in(stranger).status_code == 429
        assert (
            sign_in(Client(headers={"x-forwarded-for": "5.6.7.8"})).status_code == 302
        )

    def test_it_locks_if_the_address_is_unknown(self, account, settings):
        settings.AXES_FAILURE_LIMIT = 2
        browser = Client(REMOTE_ADDR="")

        for _ in range(2):
            sign_in(browser, "wrong")

        assert sign_in(browser).status_code == 429

    def test_a_lock_ends_although_the_stranger_goes_on(self, account, settings):
        settings.AXES_FAILURE_LIMIT = 2
        for _ in range(5):
            sign_in(Client(), "wrong")
        AccessAttempt.objects.update(
            attempt_time=timezone.now() - timedelta(minutes=61)
        )

        assert sign_in(Client()).status_code == 302

    def test_a_new_password_of_the_admin_ends_the_lock(self, db, settings):
        settings.AXES_FAILURE_LIMIT = 2
        first_start.make_admin()
        for _ in range(2):
            sign_in(Client(), "wrong", first_start.ADMIN)

        made = first_start.make_admin()

        answer = sign_in(Client(), made.password, first_start.ADMIN)
        assert answer.status_code == 302

    def test_it_signs_out(self, account):
        browser = Client()
        sign_in(browser)

        browser.post(reverse("admin:logout"))

        assert browser.get(reverse("admin:index")).status_code == 302

    def test_it_changes_the_password(self, account):
        browser = Client()
        sign_in(browser)
        new = "another phrase of harbours"

        response = browser.post(
            reverse("admin:password_change"),
            {"old_password": PASSWORD, "new_password1": new, "new_password2": new},
        )

        assert response.status_code == 302
        account.refresh_from_db()
        assert account.check_password(new)


class TestManyAccountsOrAddresses:
    @pytest.fixture(autouse=True)
    def _proxy(self, settings):
        settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": 1}
        settings.LOGIN_ADDRESS_LIMIT = settings.LOGIN_ACCOUNT_LIMIT = 4

    def at(self, number):
        return Client(headers={"x-forwarded-for": f"198.51.100.{number}"})

    def test_one_address_cannot_try_one_account_after_another(self, account):
        for number in range(4):
            assert sign_in(self.at(1), "wrong", f"name{number}").status_code == 200

        assert sign_in(self.at(1)).status_code == 429
        assert sign_in(self.at(2)).status_code == 302

    @pytest.mark.parametrize("username", ["alice", "nobody"])
    def test_many_addresses_cannot_try_one_account(self, account, username):
        for number in range(4):
            assert sign_in(self.at(number), "wrong", username).status_code == 200

        assert sign_in(self.at(9), username=username).status_code == 429

    def test_a_browser_that_has_signed_in_before_is_not_locked_out(self, account):
        browser = self.at(7)
        sign_in(browser)
        browser.post(reverse("admin:logout"))
        for number in range(4):
            sign_in(self.at(number), "wrong")

        assert sign_in(self.at(9)).status_code == 429
        assert sign_in(browser).status_code == 302

    def test_its_cookie_opens_no_other_account_and_cannot_be_made(self, account):
        User.objects.create_user("bob", password=PASSWORD, is_staff=True)
        bobs, forged = self.at(7), self.at(8)
        sign_in(bobs, username="bob")
        bobs.post(reverse("admin:logout"))
        forged.cookies[sign_in_limits.COOKIE] = '"alice":1abc:def'
        for number in range(4):
            sign_in(self.at(number), "wrong")

        assert sign_in(bobs).status_code == sign_in(forged).status_code == 429

    def test_the_cookie_is_for_the_server_alone(self, account):
        cookie = sign_in(self.at(7)).cookies[sign_in_limits.COOKIE]

        assert cookie["httponly"] and cookie["samesite"] == "Lax"
        assert "alice" not in cookie.value

    def test_the_lock_ends_by_itself(self, account):
        for number in range(4):
            sign_in(self.at(number), "wrong")
        AccessAttempt.objects.update(
            attempt_time=timezone.now() - timedelta(minutes=61)
        )

        assert sign_in(self.at(9)).status_code == 302


class TestContentSecurityPolicy:
    def test_it_lets_the_theme_evaluate_and_loads_nothing_from_elsewhere(self, account):
        browser = Client()
        sign_in(browser)

        policy = browser.get(reverse("admin:index"))["Content-Security-Policy"]

        assert "script-src 'self' 'unsafe-eval';" in f"{policy};"
        assert "http" not in policy
        assert "*" not in policy

    def test_it_covers_the_login_page_and_stays_strict_outside(self, db):
        login = Client().get(reverse(LOGIN))["Content-Security-Policy"]
        outside = Client().get("/healthz")["Content-Security-Policy"]

        assert "'unsafe-eval'" in login
        assert "unsafe" not in outside
