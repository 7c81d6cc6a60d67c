import { encode } from 'uqr';
import { type Html, html } from '../html/html.ts';

/** Width of the light border in modules, as the standard requires it: ISO/IEC 18004. */
const BORDER = 4;

/** QR code of a text as inline SVG. It is dark on light in every colour scheme, because some readers know no other. */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: BORDER });
  const path = data.map((row, y) =>
    runsOf(row)
      .map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`)
      .join(''),
  );
  return html`<svg
    class="qr"
    viewBox="0 0 ${size} ${size}"
    role="img"
    aria-label="${label}"
    shape-rendering="crispEdges"
  >
    <rect width="${size}" height="${size}" fill="#fff" />
    <path d="${path.join('')}" fill="#000" />
  </svg>`;
}

/** Start and length of each run of dark modules in a row. */
function runsOf(row: readonly boolean[]): [start: number, length: number][] {
  return [
    ...row
      .map((dark) => (dark ? '1' : '0'))
      .join('')
      .matchAll(/1+/g),
  ].map(({ 0: run, index }) => [index, run.length]);
}
