import { randomUUID } from 'node:crypto';
import type { JsonSchema } from '../../src/contract/json-schema.ts';

// A client that knows JSON Schema and reads error messages, and knows nothing about this service.

export type Body = Record<string, unknown>;

/** A valid body for a schema, made of the examples, defaults and enums in the schema. */
export function bodyOf(schema: JsonSchema, properties: 'required' | 'all'): Body {
  const names = properties === 'all' ? Object.keys(schema.properties ?? {}) : (schema.required ?? []);
  return Object.fromEntries(names.map((name) => [name, valueOf(schema.properties![name]!, properties)]));
}

function valueOf(schema: JsonSchema, properties: 'required' | 'all'): unknown {
  if (schema.properties && schema.minProperties === undefined) return bodyOf(schema, properties);
  return schema.examples?.[0] ?? schema.default ?? schema.enum?.[0] ?? false;
}

export interface Violation {
  what: string;
  /** Path that the error response must name in its issue. */
  path: string;
  body: Body;
}

/** Bodies that each violate one constraint of the schema. Each body is `whole` with one change. */
export function violationsOf(schema: JsonSchema, whole: Body): Violation[] {
  const found: Violation[] = [];
  walk(schema, [], (path, field, required) => {
    const set = (what: string, value: unknown, at: string[] = path, named: string[] = []) =>
      found.push({ what, path: [...at, ...named].join('.'), body: edited(whole, at, value) });
    if (required) set('missing', undefined);
    for (const { what, value, named } of wrongValues(field)) set(what, value, path, named);
    if (field.additionalProperties === false) set('extra key', 1, [...path, 'colour']);
    const values = field.additionalProperties;
    if (typeof values === 'object') {
      set('value of the wrong type', 7, [...path, 'note']);
      set('value too long', 'x'.repeat(values.maxLength! + 1), [...path, 'note']);
    }
  });
  return found;
}

function walk(
  schema: JsonSchema,
  path: string[],
  visit: (path: string[], schema: JsonSchema, required: boolean) => void,
): void {
  if (path.length === 0) visit(path, { additionalProperties: schema.additionalProperties ?? true }, false);
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    visit([...path, name], field, (schema.required ?? []).includes(name));
    walk({ ...field, additionalProperties: true }, [...path, name], (at, inner, required) => {
      if (at.length > path.length + 1) visit(at, inner, required);
    });
  }
}

interface WrongValue {
  what: string;
  value: unknown;
  /** Key of the faulty pair, as shown in the path of the issue. */
  named?: string[];
}

function wrongValues(field: JsonSchema): WrongValue[] {
  const types = [field.type ?? []].flat();
  const wrong: WrongValue[] = [];
  if (types.length > 0) {
    wrong.push({ what: 'wrong type', value: types.includes('string') ? 7 : 'seven' });
    wrong.push({ what: 'array', value: [] });
    if (!types.includes('null')) wrong.push({ what: 'null', value: null });
  }
  const { minLength, maxLength, exclusiveMinimum, maximum, maxProperties, propertyNames } = field;
  if (minLength) wrong.push({ what: 'too short', value: 'x'.repeat(minLength - 1) });
  if (maxLength !== undefined) wrong.push({ what: 'too long', value: longText(field.format, maxLength + 1) });
  if (exclusiveMinimum !== undefined) wrong.push({ what: 'too low', value: exclusiveMinimum });
  if (maximum !== undefined) wrong.push({ what: 'too high', value: maximum + 1 });
  if (field.enum) wrong.push({ what: 'not in the enum', value: 'something else' });
  if (field.format !== undefined) wrong.push({ what: 'wrong format', value: 'not of this format' });
  if (maxProperties !== undefined) {
    const pairs = Array.from({ length: maxProperties + 1 }, (_, index) => [`key${index}`, 'value']);
    wrong.push({ what: 'too many pairs', value: Object.fromEntries(pairs), named: [`key${maxProperties}`] });
  }
  if (propertyNames?.minLength) wrong.push({ what: 'empty key', value: { '': 'value', kept: 'value' }, named: ['""'] });
  if (propertyNames?.maxLength) {
    const key = 'k'.repeat(propertyNames.maxLength + 1);
    wrong.push({ what: 'long key', value: { [key]: 'value', kept: 'value' }, named: [`"${key.slice(0, 80)}..."`] });
  }
  return wrong;
}

function longText(format: string | undefined, length: number): string {
  if (format === 'email') return `${'a'.repeat(length - '@example.com'.length)}@example.com`;
  if (format === 'uri') return `https://shop.example/${'a'.repeat(length - 'https://shop.example/'.length)}`;
  return 'x'.repeat(length);
}

export interface Repairable {
  suggestion?: string;
  issues?: { path: string; code: string; message?: string }[];
}

/** Returns the body, corrected with only the information in the error response. */
export function repaired(body: Body, { suggestion = '', issues = [] }: Repairable): Body {
  return issues.reduce((current, { path }) => {
    const keys = keysOf(path, current);
    const { verb, rest } = orderFor(path, suggestion);
    if (verb === 'remove') return edited(current, keys, undefined);
    if (verb === 'shorten') {
      const [, limit] = /^ to at most (\d+) characters/.exec(rest)!;
      return edited(current, keys, String(valueAt(current, keys)).slice(0, Number(limit)));
    }
    if (rest.startsWith(' to an id of your own')) return edited(current, keys, `own-id-${randomUUID()}`);
    const marker = ', for example ';
    const example = rest.indexOf(marker) + marker.length;
    return edited(current, keys, leadingJson(rest.slice(example)));
  }, body);
}

/** First instruction of a suggestion about a path, and the text after the path. */
function orderFor(path: string, suggestion: string): { verb: string; rest: string } {
  const lower = suggestion.charAt(0).toLowerCase() + suggestion.slice(1);
  for (const verb of ['remove', 'shorten', 'set']) {
    const start = `; ${lower}`.indexOf(`; ${verb} ${path}`);
    const rest = `; ${lower}`.slice(start + `; ${verb} ${path}`.length);
    if (start !== -1 && /^[;, ]/.test(rest)) return { verb, rest };
  }
  throw new Error(`the suggestion says nothing about ${path}: ${suggestion}`);
}

/** The keys of a dotted path. A quoted key that ends with three dots abbreviates a longer key. */
function keysOf(path: string, body: Body): string[] {
  const shown = path.match(/"(?:[^"\\]|\\.)*"|[^.]+/g) ?? [];
  return shown.reduce<string[]>((keys, part) => {
    const key = part.startsWith('"') ? (JSON.parse(part) as string) : part;
    const [, start] = /^"(.*)\.\.\."$/.exec(part) ?? [];
    const known = Object.keys(valueAt(body, keys) ?? {});
    return [...keys, known.find((name) => start !== undefined && name.startsWith(start)) ?? key];
  }, []);
}

function valueAt(body: Body, keys: string[]): unknown {
  return keys.reduce<unknown>((value, key) => (value as Body | undefined)?.[key], body);
}

/** The JSON value at the start of a longer text. */
function leadingJson(text: string): unknown {
  for (let end = text.indexOf(';'); end !== -1; end = text.indexOf(';', end + 1)) {
    const [example, ownId] = text.slice(0, end).split(/, with an (\w+) of your own$/);
    try {
      const value = JSON.parse(example!.replace(/, or remove it$/, '')) as Body;
      return ownId === undefined ? value : { ...value, [ownId]: `own-id-${randomUUID()}` };
    } catch {
      // This semicolon is part of the value, so the loop tries the next semicolon.
    }
  }
  throw new Error(`no example in ${text}`);
}

/** Paths of optional fields that do not accept null, including nested fields. */
export function omittableFields({ properties = {}, required = [] }: JsonSchema): string[][] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const isOmittable = !required.includes(name) && ![field.type].flat().includes('null');
    return [...(isOmittable ? [[name]] : []), ...omittableFields(field).map((path) => [name, ...path])];
  });
}

/** A copy of the body with the value at a path replaced, or removed if `value` is undefined. */
export function edited(body: Body, path: string[], value: unknown): Body {
  const [name, ...rest] = path;
  if (name === undefined) return value as Body;
  const { [name]: current, ...others } = body;
  const next = rest.length === 0 ? value : edited((current ?? {}) as Body, rest, value);
  return next === undefined ? others : { ...body, [name]: next };
}

/** The targets in a Link header by their relation, in order. https://www.rfc-editor.org/rfc/rfc8288#section-3 */
export function linksOf(header: string | null): Record<string, string[]> {
  const links: Record<string, string[]> = {};
  const link = /<([^>]*)>((?:\s*;\s*[\w-]+=(?:"(?:[^"\\]|\\.)*"|[^\s;,"]+))*)\s*(?:,|$)/g;
  for (const [, target = '', parameters = ''] of (header ?? '').matchAll(link)) {
    const [, relations = ''] = /;\s*rel="?([^";]+)/.exec(parameters) ?? [];
    for (const relation of relations.split(' ')) (links[relation] ??= []).push(target);
  }
  return links;
}
