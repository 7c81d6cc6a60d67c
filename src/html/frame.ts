import type { Asset } from './assets.ts';
import { type Html, html } from './html.ts';

/** Parts of an HTML document that differ between pages. */
export interface Frame {
  title: string;
  style: Pick<Asset, 'path' | 'integrity'>;
  head?: Html | false | undefined;
  /** Icon of the page; the default is the service's own. */
  icon?: string;
  body: Html;
}

/** Default icon: a card in the accent colour. With an inline icon, browsers do not request /favicon.ico. */
const ICON = iconOf(
  '<rect width="16" height="16" rx="4" fill="#2451c7"/>' +
    '<path d="M3.5 5.5h9v5.5h-9zM3.5 7.2h9" fill="none" stroke="#fff" stroke-width="1.2"/>',
);

/** Data URL of an icon, from an SVG drawing on a 16 by 16 grid. */
export function iconOf(drawing: string): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">${drawing}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

/** A complete HTML document. `style.path` must be the path that the browser requests. */
export function renderFrame({ title, style, head, icon = ICON, body }: Frame): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" href="${icon}" />
        <link rel="stylesheet" href="${style.path}" integrity="${style.integrity}" />
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html>`;
}
