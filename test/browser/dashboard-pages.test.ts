// @run needs=browser
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { generateSync } from 'otplib';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { PLACES, evil, startDashboardStage } from '../dashboard/dashboard-stage.ts';
import { axeFaults, sidewaysScroll } from '../support/axe.ts';
import { type WatchedPage, openPage, startBrowser } from '../support/browser.ts';
import { dashboardRoutes } from '../support/dashboard-routes.ts';
import { invitePerson, joinPerson } from '../support/operators.ts';

// Every page of the dashboard and its states, with hostile text in every place.

const stage = await startDashboardStage();
const { test, ids } = stage;
const browser = await startBrowser();
after(async () => {
  await browser.close();
  await stage[Symbol.asyncDispose]();
});
const BOTH = { sandbox: 'admin', production: 'admin' } as const;
// The factor of this person is too old for a page that asks for it.
const stale = await joinPerson(test, 'stale@example.com', BOTH);
test.clock.advance(6 * 60_000);
const cookies: Record<string, string | undefined> = {
  admin: (await joinPerson(test, 'ada@example.com', BOTH)).cookie,
  other: (await joinPerson(test, 'other@example.com', BOTH)).cookie,
  viewer: (await joinPerson(test, 'viewer@example.com', { sandbox: 'viewer' })).cookie,
  stale: stale.cookie,
};
const invitation = await invitePerson(test, 'invited@example.com', { sandbox: 'support' });
test.clock.advance(1000);

const home = test.url.replace('127.0.0.1', 'localhost');
const pages = new Map<string, WatchedPage>();
/** A page in the browser of a person; `nobody` has not logged in. */
async function pageOf(person: string): Promise<WatchedPage> {
  const opened = pages.get(person) ?? (await openPageFor(person));
  pages.set(person, opened);
  return opened;
}

async function openPageFor(person: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const opened = await openPage(browser, options);
  const value = cookies[person]?.replace('tillway=', '');
  if (value !== undefined) await opened.page.context().addCookies([{ name: 'tillway', value, url: home }]);
  return opened;
}

type Open = (page: Page) => Promise<unknown>;
const on =
  (path: string): Open =>
  (page) =>
    page.goto(home + path);
const sandbox = (path: string) => on(`/dashboard/sandbox${path}`);
/** A query whose values are hostile. */
const evilQuery = (...names: string[]) => new URLSearchParams(names.map((name) => [name, evil('query')])).toString();
const FIELD = evil('field');

/** Sends a form with a valid token to an address. */
const post =
  (path: string, fields: Record<string, string> = {}, first = '/dashboard/sandbox/audit'): Open =>
  async (page) => {
    await page.goto(home + first);
    const loaded = page.waitForEvent('load');
    await page.evaluate(`{
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: ${JSON.stringify(path)} });
      const token = document.querySelector('[name=token]')?.value;
      for (const [name, value] of Object.entries({ token, ...${JSON.stringify(fields)} })) {
        form.append(Object.assign(document.createElement('textarea'), { name, value }));
      }
      document.body.append(form);
      form.submit();
    }`);
    await loaded;
  };
const postSandbox = (path: string, fields?: Record<string, string>) => post(`/dashboard/sandbox${path}`, fields);

/** Adds a password with an authenticator app. */
const addFactor: Open = async (page) => {
  await postSandbox('/security/factors')(page);
  await page.click('summary');
  const secret = (await page.textContent('details code'))!;
  await page.fill('[name=password]', 'another good password');
  await page.fill('[name=code]', generateSync({ secret, epoch: test.clock.now() / 1000 }));
  await page.click('button:text("Use the new password")');
  await page.waitForSelector('text=Authenticator app: set');
};
const join: Open = async (page) => {
  await page.goto(`${home}/dashboard/join#${invitation.secret}`);
};
const failLogins: Open = async (page) => {
  for (let count = 0; count < 11; count++) await post('/dashboard/login', { key: FIELD }, '/dashboard/login')(page);
};

interface State {
  name: string;
  /** Text on the page. */
  shows: string;
  open: Open;
  /** Person in front of the browser. Default: `admin`. */
  person?: string;
}
const state = (name: string, shows: string, open: Open, person = 'admin'): State => ({ name, shows, open, person });
const payment = (name: string, shows: string, query = '') =>
  state(name, shows, sandbox(`/payments/${ids[name]}${query}`));
const { paidPayment, refundedPayment, discrepancy } = ids;
const blocking = `/payments/${ids['new']}/block`;
const LIVE = '/dashboard/production';

/** The states of every page by the route that answers. A new page adds a line. */
const PAGES: Record<string, State[]> = {
  'GET /dashboard/:environment': [
    state('overview, new', 'Set up this service', on(LIVE)),
    state('overview, 7 days', 'Which route?', sandbox('')),
    state('overview, 24 hours', 'Which route?', sandbox('?days=1')),
    state('overview, 52 weeks', 'Which route?', sandbox('?days=365')),
    state('overview, wrong range', 'Please check the form', sandbox(`?${evilQuery('days', 'q')}`)),
    state('without a role', 'Not allowed', on(LIVE), 'viewer'),
  ],
  'GET /dashboard/:environment/payments': [
    state('list', 'Export all', sandbox('/payments?q=')),
    state('list, filtered', 'Clear the filter', sandbox('/payments?status=paid&amountFrom=10')),
    state('list, no match', 'No payment matches', sandbox('/payments?reason=abandoned&status=paid')),
    state('list, empty', 'There are no payments yet', on(`${LIVE}/payments`)),
    state('list, wrong filter', 'Please check the form', sandbox(`/payments?${evilQuery('amountTo')}`)),
    state('list, hostile query', 'Export all', sandbox(`/payments?${evilQuery('q', 'startingAfter', 'notice')}`)),
    state('list for a viewer', '•••', sandbox('/payments'), 'viewer'),
  ],
  'GET /dashboard/:environment/payments.csv': [
    state('export, wrong day', 'Please check the form', sandbox(`/payments.csv?${evilQuery('from')}`)),
  ],
  'GET /dashboard/:environment/search': [
    state('search, no hit', 'Nothing in Test mode matches', sandbox(`/search?${evilQuery('q')}`)),
    state('search, hits', 'five of more', sandbox('/search?q=49.99')),
  ],
  'GET /dashboard/:environment/payments/:id': [
    state('search, one hit', 'Timeline', sandbox('/search?q=declined@example.com')),
    payment('new', 'Not started', `?${evilQuery('notice')}`),
    payment('waiting', 'Waiting'),
    payment('declined', 'The provider says'),
    payment('blocked', 'Unblock the buyer', '?notice=block'),
    payment('expired', 'Expired'),
    payment('paid', 'Partly refunded', '?notice=refund'),
    payment('refunded', 'All of it was refunded'),
    payment('disputed', 'Disputed'),
    payment('settled', 'was paid out'),
    payment('wrong', 'Needs a decision'),
    payment('resolved', 'Discrepancy resolved'),
    state('unknown payment', 'Not found', sandbox(`/payments/${encodeURIComponent(evil('query'))}`)),
    state('payment for a viewer', 'hidden from your role', sandbox(`/payments/${ids['paid']}`), 'viewer'),
  ],
  'GET /dashboard/:environment/payments/:id/refund': [
    state('refund', 'Refund this amount', sandbox(`/payments/${paidPayment}/refund?${evilQuery('amount')}`)),
    state('refund, nothing left', 'Nothing of this payment', sandbox(`/payments/${refundedPayment}/refund`)),
  ],
  'POST /dashboard/:environment/payments/:id/refund': [
    state(
      'refund, rejected',
      'Refund this amount',
      postSandbox(`/payments/${paidPayment}/refund`, { amount: FIELD, key: FIELD, reason: FIELD }),
    ),
  ],
  'GET /dashboard/:environment/payments/:id/expire': [
    state('expire', 'cannot be undone', sandbox(`/payments/${ids['new']}/expire`)),
  ],
  'POST /dashboard/:environment/payments/:id/expire': [
    state('expire, too late', 'Something has changed', postSandbox(`/payments/${ids['paid']}/expire`)),
  ],
  'GET /dashboard/:environment/payments/:id/block': [state('block', 'for your own records', sandbox(blocking))],
  'POST /dashboard/:environment/payments/:id/block': [
    state('block, rejected', 'Please check the form', postSandbox(blocking, { reason: FIELD.padEnd(600, 'x') })),
  ],
  'GET /dashboard/:environment/payments/:id/unblock': [
    state('unblock', 'can then pay', sandbox(`/payments/${ids['blocked']}/unblock`)),
  ],
  'POST /dashboard/:environment/payments/:id/unblock': [
    state('unblock nobody', 'Not found', postSandbox('/payments/chk_none/unblock')),
  ],
  'POST /dashboard/:environment/payments/:id/resend': [
    state('send an unknown event', 'Not found', postSandbox(`/payments/${ids['new']}/resend`, { event: FIELD })),
  ],
  'GET /dashboard/:environment/discrepancies/:id': [
    state('resolve', 'Refund $', sandbox(`/discrepancies/${discrepancy}`)),
  ],
  'POST /dashboard/:environment/discrepancies/:id': [
    state(
      'resolve, rejected',
      'Resolve a discrepancy',
      postSandbox(`/discrepancies/${discrepancy}`, { action: FIELD, note: FIELD }),
    ),
  ],
  'GET /dashboard/:environment/audit': [
    state('audit', 'expireSession', sandbox('/audit')),
    state('audit, no match', 'Nothing matches', sandbox(`/audit?${evilQuery('action')}`)),
    state('audit, wrong filter', 'Please check the form', sandbox(`/audit?${evilQuery('from')}`)),
  ],
  'GET /dashboard/:environment/operators': [
    state('operators', 'Invite a person', on(`${LIVE}/operators`)),
    state('old factor', 'Confirm that it is you', on(`${LIVE}/operators`), 'stale'),
    state('not for viewers', 'Not allowed', sandbox('/operators'), 'viewer'),
  ],
  'POST /dashboard/:environment/operators': [
    state('invitation', '/dashboard/join#', post(`${LIVE}/operators`, { email: 'new@example.com', sandbox: 'viewer' })),
    state(
      'invitation, rejected',
      'Please check the form',
      post(`${LIVE}/operators`, { email: FIELD, sandbox: 'viewer' }),
    ),
  ],
  'POST /dashboard/:environment/operators/:id/roles': [
    state('roles of nobody', 'Not found', post(`${LIVE}/operators/nobody/roles`, { sandbox: 'viewer' })),
  ],
  'GET /dashboard/:environment/security': [
    state('my security', 'End all other sessions', sandbox('/security')),
    state('my security, old factor', 'Confirm', sandbox('/security'), 'stale'),
  ],
  'POST /dashboard/:environment/security/factors': [
    state('add a factor', 'Use a new passkey', postSandbox('/security/factors')),
  ],
  'POST /dashboard/:environment/security/passkeys/:id/remove': [
    state('remove nothing', 'Not found', postSandbox('/security/passkeys/none/remove')),
  ],
  'GET /dashboard/login': [
    state('confirm', 'Confirm that it is you', on(`/dashboard/login?${evilQuery('next')}`)),
    state('login', 'Log in with a passkey', on(`/dashboard/login?${evilQuery('next')}`), 'nobody'),
    state('login at an address', 'at localhost', (page) => page.goto(`${test.url}/dashboard/login`), 'nobody'),
  ],
  'GET /dashboard/join': [state('join', 'Code of the invitation', on('/dashboard/join'), 'nobody')],
  'POST /dashboard/join': [
    state('new password', 'Authenticator app: set', addFactor, 'other'),
    state('join by the link', 'You join as', join, 'nobody'),
    state('join, wrong code', 'Reference', post('/dashboard/join', { secret: FIELD }, '/dashboard/join'), 'nobody'),
  ],
  'POST /dashboard/logout': [state('no token', 'Not allowed', post('/dashboard/logout', { token: FIELD }))],
  'POST /dashboard/login': [
    state(
      'login, rejected',
      'The login was not accepted',
      post('/dashboard/login', { email: FIELD, password: FIELD }, '/dashboard/login'),
      'nobody',
    ),
    state('too many logins', 'Too many requests', failLogins, 'nobody'),
  ],
};
/** Routes that never answer with a page of their own. */
const WITHOUT_PAGE = [
  'GET /dashboard',
  'POST /dashboard/challenge',
  'POST /dashboard/:environment/security/sessions/:id/end',
];
const unnamed = (routes: readonly string[]) => routes.filter((one) => !(one in PAGES) && !WITHOUT_PAGE.includes(one));

const MARKUP = 'img, i, b, script:not([src]), body style, [onerror], [style], [href^="javascript:"]';

/** Everything that is wrong with a page: of accessibility, of its width, markup of untrusted text, complaints and foreign requests. */
async function faultsOf({ page, complaints, requests }: WatchedPage): Promise<string[]> {
  const faults: string[] = [];
  await page.locator('details').evaluateAll((all) => all.forEach((one) => one.setAttribute('open', '')));
  // Contrast depends on the scheme and layout on the width, so two runs cover the four combinations.
  for (const [colorScheme, width] of [
    ['light', 1280],
    ['dark', 320],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    const found = await axeFaults(page);
    const wider = await sidewaysScroll(page);
    if (wider !== 0) found.push(`${wider} px too wide`);
    const buttons = await page
      .locator('.small-button:visible')
      .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
    if (width === 320 && buttons.some((height) => height < 44)) found.push('a button is lower than 44 px');
    const numbers = await page
      .locator('.numbers')
      .evaluateAll((all) => all.map((one) => one.scrollWidth > one.clientWidth));
    if (numbers.includes(true)) found.push('the numbers of a plot are cut off');
    faults.push(...found.map((fault) => `${colorScheme}, ${width} px: ${fault}`));
  }
  const markup = await page.locator(MARKUP).evaluateAll((all) => all.map((one) => `markup ${one.outerHTML}`));
  // The browser itself reports the status of an error page.
  const said = complaints.filter((text) => !/status of 4\d\d/.test(text));
  const foreign = requests.filter((line) => !/^\w+ (?:http:\/\/(?:localhost|127\.0\.0\.1):\d+\/|data:)/.test(line));
  if ((await page.title()) === '1') faults.push('a script ran');
  return [...faults, ...markup, ...said, ...foreign];
}

const contentOf = (page: Page) =>
  page.evaluate<string>(
    "document.body.textContent + [...document.querySelectorAll('input, textarea')].map(({ value }) => value)",
  );

/** Number of elements that stay in place, and so cover text in a low window. */
const COVERED = `
  [...document.querySelectorAll('body *')].filter((one) => ['fixed', 'sticky'].includes(getComputedStyle(one).position)).length`;

/** Whether the element with the focus is visible, has a mark of the focus, and follows the element before. */
const FOCUS = `(() => {
  const { activeElement: now, last } = document;
  document.last = now;
  const { outlineStyle, outlineWidth } = getComputedStyle(now);
  const box = now.getBoundingClientRect();
  const isInside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  const isMarked = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
  const follows = !last || (last.compareDocumentPosition(now) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  return isInside && isMarked && follows ? 'visible, in order' : now.outerHTML;
})()`;

describe('the pages of the dashboard', () => {
  it('are all in the list of this test', async () => {
    const routes = await dashboardRoutes(test);
    assert.deepEqual(unnamed(routes), []);
    assert.deepEqual([...Object.keys(PAGES), ...WITHOUT_PAGE].toSorted(), routes.toSorted());
    const injected = await dashboardRoutes(test, (app) => app.get('/dashboard/:environment/unnamed', () => ''));
    assert.deepEqual(unnamed(injected), ['GET /dashboard/:environment/unnamed']);
  });

  const seen = new Set<string>();
  for (const [route, states] of Object.entries(PAGES)) {
    const address = new RegExp(`^${route.replace('/', 'http://[^/]+/').replaceAll(/:\w+/g, '[^/]+')}(?:[?#]|$)`);
    for (const { name, shows, open, person } of states) {
      it(`${name} has no fault`, async () => {
        const opened = await pageOf(person!);
        for (const records of [opened.requests, opened.complaints]) records.length = 0;
        await open(opened.page);
        await opened.page.getByText(shows).first().waitFor({ state: 'attached', timeout: 5000 });
        assert.ok(
          opened.requests.some((line) => address.test(line)),
          `${route} did not answer`,
        );
        // The raw records have backslashes before quotation marks.
        const content = (await contentOf(opened.page)).replaceAll('\\', '');
        for (const place of PLACES) if (content.includes(evil(place).slice(0, 30))) seen.add(place);
        assert.deepEqual(await faultsOf(opened), []);
      });
    }
  }

  it('show the hostile text of every place', () => {
    assert.deepEqual(
      PLACES.filter((place) => !seen.has(place)),
      [],
    );
  });

  it('are not passed with markup from untrusted text', async () => {
    const { page, ...records } = await openPageFor('admin');
    await page.route('**/payments/*', async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: (await answer.text()).replaceAll('&lt;img', '<img width=900') });
    });
    await sandbox(`/payments/${ids['paid']}`)(page);
    const faults = (await faultsOf({ page, ...records })).join();
    for (const fault of [/image-alt/, /px too wide/, /markup <img/, /Content Security Policy/])
      assert.match(faults, fault);
    await page.context().close();
  });

  it('are usable in forced colours and at a zoom of 400 %', async () => {
    // A window of 1280 by 800 pixels has this size at that zoom.
    const zoomed = { viewport: { width: 320, height: 200 }, deviceScaleFactor: 4 };
    for (const options of [{ forcedColors: 'active' as const, viewport: { width: 1280, height: 800 } }, zoomed]) {
      const { page } = await openPageFor('admin', options);
      for (const path of ['', '/payments', `/payments/${ids['wrong']}`, `/payments/${paidPayment}/refund`]) {
        await sandbox(path)(page);
        assert.deepEqual(await axeFaults(page), [], path);
        assert.equal(await sidewaysScroll(page), 0, path);
        // Forced colours remove backgrounds, so every control needs a border.
        const borderless = await page.evaluate<string[]>(`
          [...document.querySelectorAll('button:not(.link-button), .small-button, .button, input:not([type=hidden]), select')]
            .filter((one) => one.checkVisibility() && getComputedStyle(one).borderTopWidth === '0px')
            .map(({ outerHTML }) => outerHTML)`);
        assert.deepEqual(borderless, [], path);
        const colourless = await page.evaluate<string[]>(`
          [...document.querySelectorAll('rect.bar, rect.band, circle.mark')]
            .filter((one) => getComputedStyle(one).fill === getComputedStyle(document.body).backgroundColor)
            .map(({ outerHTML }) => outerHTML)`);
        assert.deepEqual(colourless, [], path);
        assert.equal(await page.evaluate(COVERED), 0, path);
      }
      await page.context().close();
    }
  });

  it('show the focus on every control, in the order of the page', async () => {
    const { page } = await openPageFor('admin', { viewport: { width: 1280, height: 800 } });
    await sandbox(`/payments/${ids['wrong']}`)(page);
    const controls = await page.evaluate<number>(`
      const focusable = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
      [...document.querySelectorAll(focusable)].filter((one) => one.checkVisibility()).length`);
    assert.ok(controls > 20);
    const stops: string[] = [];
    for (let count = 0; count < controls; count++) {
      await page.keyboard.press('Tab');
      stops.push(await page.evaluate<string>(FOCUS));
    }
    assert.deepEqual(stops, Array(controls).fill('visible, in order'));
    await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
    await page.reload();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main', 'the first control skips to the content');
    await page.context().close();
  });
});
