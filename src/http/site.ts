import { loadStyle } from '../html/assets.ts';
import { renderFrame } from '../html/frame.ts';
import { type Html, html } from '../html/html.ts';

/** Stylesheet of {@link sitePage}. */
export const SITE_STYLE = loadStyle(new URL('./assets/site.css', import.meta.url));

/** Page with the layout of the front page and the error pages. */
export function sitePage(title: string, main: Html): Html {
  const body = html`<header>
      <a class="brand" href="/">Tillway</a>
      <nav aria-label="Documentation"><a href="/docs">API</a> <a href="/simulator">Testing</a></nav>
    </header>
    <main>${main}</main>`;
  return renderFrame({ title, style: SITE_STYLE, body });
}
