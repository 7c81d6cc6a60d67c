/** The forms, links and heading of a page, as a browser without JavaScript shows it. */
export interface WebPage {
  url: string;
  /** The text of its first heading. */
  heading: string;
  forms: WebForm[];
  links: { url: string; text: string }[];
  /** The target of its refresh; null without one. */
  leadsTo: string | null;
  /** True if it reloads itself after a while. */
  waits: boolean;
}

export interface WebForm {
  url: string;
  fields: WebField[];
  /** The text of its button. */
  button: string;
}

interface WebField {
  name: string;
  value: string;
  isRadio: boolean;
  isChecked: boolean;
}

const TAG = /<(\/?)([a-z][a-z0-9]*)((?:\s+[^\s=>/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*)\s*\/?>/gi;
const ATTRIBUTE = /([^\s=>/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g;
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

type Attributes = Record<string, string>;

/** Reads the forms, links and headings of a page of Tillway or its simulated provider. */
export function parsePage(markup: string, url: string): WebPage {
  const page: WebPage = { url, heading: '', forms: [], links: [], leadsTo: null, waits: false };
  let form: WebForm | undefined;
  for (const { 1: slash, 2: tag = '', 3: text = '', index, 0: whole } of markup.matchAll(TAG)) {
    const name = tag.toLowerCase();
    if (slash === '/') {
      if (name === 'form') form = undefined;
      continue;
    }
    const attributes = attributesOf(text);
    const content = () => textUntil(markup, index + whole.length, name);
    if (name === 'form') {
      form = { url: (URL.parse(attributes['action'] || url, url) ?? new URL(url)).href, fields: [], button: '' };
      page.forms.push(form);
    } else if (name === 'input' && form) form.fields.push(...fieldsOf(attributes));
    else if (name === 'button' && form && form.button === '') form.button = content();
    else if (name === 'a' && attributes['href'] !== undefined) {
      const target = URL.parse(attributes['href'], url);
      if (target) page.links.push({ url: target.href, text: content() });
    } else if (name === 'h1' && page.heading === '') page.heading = content();
    else if (name === 'meta' && attributes['http-equiv']?.toLowerCase() === 'refresh') {
      page.leadsTo = targetOf(attributes['content'] ?? '', url);
      page.waits = page.leadsTo === null;
    }
  }
  return page;
}

function attributesOf(text: string): Attributes {
  return Object.fromEntries(
    Array.from(text.matchAll(ATTRIBUTE), ([, name, double, single, bare]) => [
      name!.toLowerCase(),
      decoded(double ?? single ?? bare ?? ''),
    ]),
  );
}

function fieldsOf({ name, value = '', type = 'text', checked }: Attributes): WebField[] {
  if (name === undefined || ['submit', 'button', 'image', 'reset'].includes(type)) return [];
  const isRadio = type === 'radio' || type === 'checkbox';
  return [{ name, value, isRadio, isChecked: !isRadio || checked !== undefined }];
}

function targetOf(content: string, url: string): string | null {
  const target = /;\s*url\s*=\s*(.+)$/i.exec(content)?.[1];
  return target === undefined ? null : (URL.parse(target, url)?.href ?? null);
}

/** The first text in an element: a button can have one text for each choice. */
function textUntil(markup: string, start: number, tag: string): string {
  const end = markup.indexOf(`</${tag}`, start);
  const parts = markup.slice(start, end === -1 ? start : end).split(/<(?:\/span|\/?h\d|\/?p)\b[^>]*>/);
  const words = parts.map((part) =>
    decoded(part.replaceAll(/<[^>]*>/g, ''))
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
  return words.find((text) => text !== '') ?? '';
}

function decoded(text: string): string {
  return text.replaceAll(/&([a-z]+|#39);/g, (entity, name: string) => ENTITIES[name] ?? entity);
}

/** The data that the form sends, with other radio buttons chosen. */
export function filled({ fields }: WebForm, chosen: Record<string, string> = {}): URLSearchParams {
  const sent = new URLSearchParams();
  for (const { name, value, isRadio, isChecked } of fields) {
    const isChosen = isRadio && Object.hasOwn(chosen, name) ? chosen[name] === value : isChecked;
    if (isChosen) sent.append(name, value);
  }
  return sent;
}
