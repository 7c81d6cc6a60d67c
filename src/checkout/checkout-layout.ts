import type { Urls } from '../contract/session-contract.ts';
import type { Asset } from '../html/assets.ts';
import { renderFrame } from '../html/frame.ts';
import { type Html, html } from '../html/html.ts';

export type PageStep = 'pay' | 'switch' | 'cancel' | 'continue' | 'status';

/** Creates the paths of the buyer's pages as the browser sees them: a proxy may add a path prefix. */
export function createPaths(urls: Urls) {
  const root = new URL(urls.checkout).pathname.replace(/\/+$/, '');
  const checkout = (sessionId: string) => `${root}/checkout/${encodeURIComponent(sessionId)}`;
  return {
    checkout,
    step: (sessionId: string, step: PageStep) => `${checkout(sessionId)}/${step}`,
    asset: (path: string) => `${root}${path}`,
  };
}

/** Settings and assets of all pages. */
export interface Shop {
  merchant: string;
  /** First letter of the merchant's name. */
  initial: string;
  /** App schemes that the operator allows in a redirectUrl. */
  redirectSchemes: readonly string[];
  paths: ReturnType<typeof createPaths>;
  style: Asset;
  script: Asset;
}

/** Data that the script needs to keep a page up to date. */
interface Live {
  statusPath: string;
  version: string;
  final: boolean;
}

export interface Page {
  title: string;
  testMode: boolean;
  main: Html;
  live?: Live;
  head?: Html;
}

export function renderDocument(shop: Shop, page: Page): Html {
  const { paths, style, script, merchant, initial } = shop;
  const head = html`<meta name="robots" content="noindex" />
    <script type="module" src="${paths.asset(script.path)}" integrity="${script.integrity}"></script>
    ${page.head}`;
  const body = html`<header>
      <p class="merchant"><span class="mark" aria-hidden="true">${initial}</span><bdi>${merchant}</bdi></p>
      ${page.testMode && html`<p class="test-mode"><strong>Test mode</strong> <span>no real money moves</span></p>`}
    </header>
    ${renderMain(page)}
    <footer><p>Hosted checkout by Tillway</p></footer>
    <p id="announcer" class="unseen" role="status"></p>`;
  return renderFrame({
    title: `${page.title} - ${merchant}`,
    style: { ...style, path: paths.asset(style.path) },
    head,
    body,
  });
}

function renderMain({ main, live }: Page): Html {
  if (!live) return html`<main>${main}</main>`;
  const { statusPath, version, final } = live;
  return html`<main data-status="${statusPath}" data-version="${version}" data-final="${String(final)}">${main}</main>`;
}

/** The first letter of a name as a person sees it, which may be several code points. */
export function initialOf(name: string): string {
  const [first] = new Intl.Segmenter('en').segment(name.trim());
  return (first?.segment ?? '').toUpperCase();
}
