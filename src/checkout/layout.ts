import type { Asset } from '../html/assets.ts';
import { type Html, html } from '../html/html.ts';
import type { Paths } from './paths.ts';

/** What all pages share. */
export interface Shop {
  merchant: string;
  paths: Paths;
  style: Asset;
  script: Asset;
}

/** What the script needs to keep a page current. */
export interface Live {
  statusPath: string;
  version: number;
  /** Nothing will change any more by itself. */
  final: boolean;
}

export interface Page {
  title: string;
  testMode: boolean;
  main: Html;
  live?: Live;
  /** Further elements of the head. */
  head?: Html;
}

// A mark of our own, so that no browser asks for /favicon.ico: a card in the accent colour.
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2451c7"/>' +
    '<path d="M3.5 5.5h9v5.5h-9zM3.5 7.2h9" fill="none" stroke="#fff" stroke-width="1.2"/></svg>',
)}`;

export function renderDocument(shop: Shop, page: Page): Html {
  const { paths, style, script, merchant } = shop;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${page.title} - ${merchant}</title>
        <link rel="icon" href="${ICON}" />
        <link rel="stylesheet" href="${paths.asset(style.path)}" integrity="${style.integrity}" />
        <script type="module" src="${paths.asset(script.path)}" integrity="${script.integrity}"></script>
        ${page.head}
      </head>
      <body>
        <header>
          <p class="merchant">
            <span class="mark" aria-hidden="true">${initialOf(merchant)}</span><bdi>${merchant}</bdi>
          </p>
          ${page.testMode && html`<p class="test-mode"><strong>Test mode</strong> <span>no real money moves</span></p>`}
        </header>
        ${renderMain(page)}
        <footer><p>Hosted checkout by Tillway</p></footer>
        <p id="announcer" class="unseen" role="status"></p>
      </body>
    </html>`;
}

function renderMain({ main, live }: Page): Html {
  if (!live) return html`<main>${main}</main>`;
  const { statusPath, version, final } = live;
  return html`<main data-status="${statusPath}" data-version="${version}" data-final="${String(final)}">${main}</main>`;
}

/** The first letter a person sees, which may be several code points. */
function initialOf(name: string): string {
  const [first] = new Intl.Segmenter('en').segment(name.trim());
  return (first?.segment ?? '').toUpperCase();
}
