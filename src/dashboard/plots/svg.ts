import { Html, type HtmlValue, html } from '../../html/html.ts';

/** Width of every plot in units of its view box. */
export const WIDTH = 480;

type Attributes = Record<string, string | number | undefined>;

/** An SVG element. Names are constants of this program; values are escaped, and coordinates have one decimal. */
export function svg(name: string, attributes: Attributes, ...children: HtmlValue[]): Html {
  const written = Object.entries(attributes).map(([key, value]) => {
    const text = typeof value === 'number' ? Math.round(value * 10) / 10 : value;
    return text !== undefined && html` ${new Html(key)}="${text}"`;
  });
  return html`<${new Html(name)}${written}>${children}</${new Html(name)}>`;
}

export function label(x: number, y: number, text: HtmlValue, anchor?: 'middle' | 'end', kind?: string): Html {
  return svg('text', { x, y, 'text-anchor': anchor, class: kind }, text);
}
