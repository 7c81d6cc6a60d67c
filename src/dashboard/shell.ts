import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { managesOperators } from '../domain/permission.ts';
import type { Principal } from '../domain/principal.ts';
import type { Environment } from '../domain/route.ts';
import { loadScript, loadStyle } from '../html/assets.ts';
import { renderFrame } from '../html/frame.ts';
import { type Html, type HtmlValue, html } from '../html/html.ts';
import { zonedTime } from './components/time.ts';
import type { DashboardPage, Visit } from './visit.ts';

const STYLE = loadStyle(new URL('./assets/dashboard.css', import.meta.url));
const SCRIPT = loadScript(new URL('./assets/dashboard.js', import.meta.url));
const MORPH = loadScript(pathToFileURL(createRequire(import.meta.url).resolve('idiomorph/dist/idiomorph.min.js')));
export const DASHBOARD_ASSETS = [STYLE, SCRIPT, MORPH];

/** Entries of the navigation: the address within the environment, the name, and who sees it, if not everybody. */
const NAVIGATION: readonly (readonly [page: string, name: string, isFor?: (principal: Principal) => boolean])[] = [
  ['', 'Overview'],
  ['payments', 'Payments'],
  ['audit', 'Audit'],
  ['operators', 'Operators', managesOperators],
  ['security', 'My security', ({ kind }) => kind === 'operator'],
];

/** Name of each environment for a person. */
export const MODES: Record<Environment, Record<'name' | 'hint' | 'money', string>> = {
  sandbox: { name: 'Test mode', hint: 'no real money moves', money: 'test money' },
  production: { name: 'Live', hint: 'real money', money: 'real money' },
};

/** A page of an environment: the band with the mode and the search box, the navigation and the content. */
export function renderVisit(visit: Visit, { title, main, head, isLive = false }: DashboardPage): Html {
  const { environment, deps } = visit;
  const mode = MODES[environment];
  return renderFrame({
    title: `${title} - ${mode.name} - ${deps.merchantName}`,
    style: STYLE,
    head: html`<meta name="robots" content="noindex" />
      <script src="${MORPH.path}" integrity="${MORPH.integrity}" defer></script>
      <script type="module" src="${SCRIPT.path}" integrity="${SCRIPT.integrity}"></script>
      ${head}`,
    body: html`<a class="skip" href="#main">Skip to the content</a>
      <header class="band ${environment}">
        <a class="brand" href="${visit.path('')}"><bdi>${deps.merchantName}</bdi></a>
        <p class="mode"><strong>${mode.name}</strong> <span>${mode.hint}</span> ${linkToOther(visit, 'Switch to')}</p>
        ${renderSearch(visit)} ${renderPrincipal(visit)}
      </header>
      <nav class="pages" aria-label="Pages">${renderLinks(visit)}</nav>
      <main id="main" tabindex="-1" ${isLive && html`data-live`}>
        <h1>${title}</h1>
        ${main}
        <p class="as-of">As of ${zonedTime(deps.now(), deps.reportingZone)}. <a href="${visit.here}">Refresh</a></p>
      </main>
      <p id="announcer" class="unseen" role="status"></p>`,
  });
}

/** A page outside of an environment, such as the login. */
export function renderPlain({ title, main }: Pick<DashboardPage, 'title' | 'main'>, head?: Html): Html {
  return renderFrame({
    title: `${title} - Tillway`,
    style: STYLE,
    head: html`<meta name="robots" content="noindex" />${head}`,
    body: html`<main id="main" class="narrow">
      <h1>${title}</h1>
      ${main}
    </main>`,
  });
}

/** A link to a page of the other environment, such as `/payments`; none if the visitor has no role there. */
export function linkToOther({ visitor, environment }: Visit, verb: string, page = ''): Html | false {
  const other = environment === 'sandbox' ? 'production' : 'sandbox';
  if (!visitor.environments.includes(other)) return false;
  return html`<a href="/dashboard/${other}${page}">${verb} ${MODES[other].name}</a>`;
}

function renderSearch({ path, query }: Visit): Html {
  return html`<form class="search" role="search" action="${path('search')}">
    <label class="unseen" for="search">Search</label>
    <input id="search" name="q" type="search" value="${query.get('q')}" placeholder="Order, email, amount, any id" />
    <button class="small-button">Search</button>
  </form>`;
}

function renderPrincipal({ visitor: { principal }, formToken }: Visit): Html {
  if (principal.kind !== 'machine') {
    return html`<form class="principal" method="post" action="/dashboard/logout">
      ${formToken} <span>${principal.name}</span> <button class="small-button">Log out</button>
    </form>`;
  }
  return html`<p class="principal">
    Open to everybody on this machine until an operator has joined: <code>tillway operators invite</code>.
  </p>`;
}

function renderLinks({ path, here, visitor: { principal } }: Visit): HtmlValue {
  const address = here.split('?')[0]!;
  return NAVIGATION.map(([page, name, isFor]) => {
    const target = path(page);
    const isCurrent = address === target || (page !== '' && address.startsWith(`${target}/`));
    const mark = isCurrent && html`aria-current="page"`;
    return (isFor?.(principal) ?? true) && html`<a href="${target}" ${mark}>${name}</a>`;
  });
}
