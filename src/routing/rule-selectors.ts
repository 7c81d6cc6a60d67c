import { KYC_POLICIES, ROUTE_KINDS, type Route } from '../domain/route.ts';
import { MAX_VALUES, type RuleFault, arrayFaults, textFaults, within } from './rule-faults.ts';

/** Selection of routes by id or by attributes. A route must have one of the given values of every attribute. */
export type RouteSelector = string | string[] | RouteAttributes;

const ATTRIBUTES = ['kind', 'integrationId', 'network', 'asset', 'kycPolicy'] as const;
type Attribute = (typeof ATTRIBUTES)[number];
type RouteAttributes = { [Name in Attribute]?: Route[Name] | Route[Name][] };
const CHOICES: Partial<Record<Attribute, readonly unknown[]>> = { kind: ROUTE_KINDS, kycPolicy: KYC_POLICIES };
// Maximum number of named values in the one-line description of a selector.
const MAX_NAMED = 5;

/** Faults in the structure of a selector, whatever the catalogue contains; none for a valid `RouteSelector`. */
export function selectorShapeFaults(value: unknown): RuleFault[] {
  if (typeof value === 'string' || Array.isArray(value)) {
    return oneOrMoreFaults(value, (each) => textFaults(each, 'the id of a route, '));
  }
  if (typeof value !== 'object' || value === null) {
    const message = `must be a route id, an array of route ids, or an object with ${ATTRIBUTES.join(', ')}`;
    return [{ path: [], code: 'invalid_type', message }];
  }
  const entries = Object.entries(value);
  if (entries.length === 0) {
    const message = `must be an object with at least one of ${ATTRIBUTES.join(', ')}`;
    return [{ path: [], code: 'too_small', message }];
  }
  return entries.slice(0, MAX_VALUES).flatMap(([key, wanted]) => within([key], attributeFaults(key, wanted)));
}

function attributeFaults(key: string, wanted: unknown): RuleFault[] {
  const name = ATTRIBUTES.find((each) => each === key);
  if (!name) {
    const remedy = `use ${ATTRIBUTES.join(', ')}`;
    return [{ path: [], code: 'unrecognized_keys', message: 'is not an attribute of routes', remedy }];
  }
  const choices = CHOICES[name];
  return oneOrMoreFaults(wanted, (value) => {
    if (!choices) return textFaults(value, `the ${name} of a route, `);
    if (choices.includes(value)) return [];
    return [{ path: [], code: 'invalid_value', message: `must be one of ${choices.join(', ')}` }];
  });
}

/** Faults of one value, or of an array of values. */
function oneOrMoreFaults(value: unknown, faultsOf: (value: unknown) => RuleFault[]): RuleFault[] {
  if (!Array.isArray(value)) return faultsOf(value);
  const faults = arrayFaults(value, 'values');
  return faults.length > 0 ? faults : value.flatMap((each, index) => within([index], faultsOf(each)));
}

/** Faults of the parts of a selector that match no route of the catalogue, or are repeated. */
export function selectorCatalogueFaults(selector: RouteSelector, routes: readonly Route[]): RuleFault[] {
  if (typeof selector === 'string') return idFaults(selector, routes);
  if (Array.isArray(selector)) {
    return selector.flatMap((id, index) => {
      if (selector.indexOf(id) === index) return within([index], idFaults(id, routes));
      return [{ path: [index], code: 'duplicate_route', message: 'is a duplicate', remedy: 'remove it' }];
    });
  }
  const faults = Object.entries(selector).flatMap(([name, wanted]: [string, string | string[]]) => {
    const known = [...new Set(routes.map((route) => route[name as Attribute]))];
    return [wanted].flat().flatMap((value, index): RuleFault[] => {
      if (known.some((each) => each === value)) return [];
      const path = typeof wanted === 'string' ? [name] : [name, index];
      const remedy = `set it to one of ${firstFew(known)}`;
      return [{ path, code: 'unknown_attribute', message: `is not the ${name} of any route`, remedy }];
    });
  });
  if (faults.length > 0 || routesOf(selector, routes).length > 0) return faults;
  const remedy = 'remove an attribute, or name the routes by id';
  return [{ path: [], code: 'no_such_route', message: 'matches no route: no route has all attributes', remedy }];
}

export function idFaults(id: string, routes: readonly Route[]): RuleFault[] {
  if (routes.some((route) => route.id === id)) return [];
  const remedy = `set it to one of ${firstFew(routes.map((route) => route.id))}`;
  return [{ path: [], code: 'unknown_route', message: 'is not a route of the catalogue', remedy }];
}

/** The selected routes among `routes`: by id in the order of the selector, by attributes in the order of `routes`. */
export function routesOf(selector: RouteSelector, routes: readonly Route[]): Route[] {
  if (typeof selector === 'string') return routes.filter(({ id }) => id === selector);
  if (Array.isArray(selector)) return selector.flatMap((id) => routes.filter((route) => route.id === id));
  const wanted = Object.entries(selector) as [Attribute, string | string[]][];
  return routes.filter((route) => wanted.every(([name, values]) => [values].flat().includes(route[name])));
}

/** A selector in words, such as "rt_a, rt_b" or "kind card or wallet, network sepa". */
export function selectorInWords(selector: RouteSelector): string {
  if (typeof selector === 'string') return selector;
  if (Array.isArray(selector)) return firstFew(selector);
  return Object.entries(selector)
    .map(([name, values]: [string, string | string[]]) => `${name} ${firstFew([values].flat(), ' or ')}`)
    .join(', ');
}

/** The first few values, and the number of the others. */
export function firstFew(values: readonly string[], separator = ', '): string {
  const rest = values.length - MAX_NAMED;
  const named = values.slice(0, MAX_NAMED).join(separator);
  return rest > 0 ? `${named} and ${rest} more` : named;
}
