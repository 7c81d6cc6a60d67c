// Parts of the negative twins of requests: copies of a valid request with one change that makes it invalid.

export type Tree = Record<string, unknown>;

/** Copy of a body with another value at a path, such as `lines.0.amount`; the value undefined removes the field. */
export function changed<Body extends object>(body: Body, path: string, value: unknown): Body {
  const copy = structuredClone(body);
  const keys = path.split('.');
  const last = keys.pop()!;
  const parent = keys.reduce((object, key) => object[key] as Tree, copy as Tree);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

/** All paths of fields with their values. */
export function pathsOf(body: unknown, prefix = ''): [path: string, value: unknown][] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([key, value]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`;
    return [[path, value] as [string, unknown], ...pathsOf(value, path)];
  });
}
