/** Colours that are readable on white and on black. */
export const INK_COLOUR = '#6e7781';
export const FAINT_COLOUR = '#8b949e';
export const OUR_COLOUR = '#1f8f4e';
export const OTHER_COLOUR = '#7d8fa9';
export const ARM_COLOURS = ['#d9822b', '#3b82d6', '#a05fd0', '#2f9e8f', '#cf4a68'];

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

export interface SvgTextOptions {
  anchor?: 'start' | 'middle' | 'end';
  size?: number;
  bold?: boolean;
  colour?: string;
}

export function svgText(x: number, y: number, content: string, options: SvgTextOptions = {}): string {
  const { anchor = 'start', size = 12, bold = false, colour = INK_COLOUR } = options;
  const weight = bold ? ' font-weight="600"' : '';
  return `<text x="${short(x)}" y="${short(y)}" text-anchor="${anchor}" font-size="${size}" fill="${colour}"${weight}>${escaped(content)}</text>`;
}

export function svgBar(x: number, y: number, width: number, height: number, colour: string, opacity = 1): string {
  const alpha = opacity === 1 ? '' : ` fill-opacity="${short(opacity)}"`;
  return `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${colour}"${alpha}/>`;
}

export function svgLine(points: readonly (readonly [x: number, y: number])[], colour: string, width = 1): string {
  const path = points.map(([x, y]) => `${short(x)},${short(y)}`).join(' ');
  return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="${width}"/>`;
}

export function svgDot(x: number, y: number, radius: number, colour: string): string {
  return `<circle cx="${short(x)}" cy="${short(y)}" r="${radius}" fill="${colour}"/>`;
}

/** A complete SVG document; `title` is for screen readers. */
export function svgDocument(width: number, height: number, title: string, parts: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif">`;
  return [head, `<title>${escaped(title)}</title>`, ...parts, '</svg>', ''].join('\n');
}

function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
