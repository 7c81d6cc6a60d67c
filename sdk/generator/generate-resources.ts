import {
  type ApiDocument,
  type Operation,
  type Schema,
  answerOf,
  docOf,
  itemOf,
  nameIn,
  pascalCase,
  queryOf,
} from './document.ts';
import { publicName } from './generate-types.ts';
import { METHODS, NAMES, READERS } from './public-names.ts';

const HEAD = `
  import { readDelivery, readEvent, readPage, readRoutes, resource, resultOf } from '../answers.ts';
  import { call, listOf, withKey } from '../call.ts';
  import type { Page, TillwayList } from '../list.ts';
  import type { TillwayPromise } from '../promise.ts';
  import type { RequestOptions, Transport } from '../transport.ts';
`;

/** Resources that src/client-resources.ts extends. */
const EXTENDED = new Set(['events', 'webhooks', 'testClock']);

/** The source of the classes with a method for each operation. */
export function resourcesText(api: ApiDocument): string {
  const used = new Set<string>();
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );
  const classes = Object.entries(METHODS).map(([resource, methods]) => {
    const texts = Object.entries(methods).map(([name, [id, repeat = 'yes']]) => methodText(name, id, repeat));
    return `export class ${pascalCase(resource)}Resource {
      readonly #transport: Transport;

      constructor(transport: Transport) { this.#transport = transport; }

      ${texts.join('\n\n')}
    }\n`;
  });
  const resources = Object.keys(METHODS).filter((resource) => !EXTENDED.has(resource));
  const all = `/** The resources of the API that the client has unchanged. */
    export class ApiResources {
      ${resources.map((name) => `readonly ${name}: ${pascalCase(name)}Resource;`).join('\n')}

      constructor(transport: Transport) {
        ${resources.map((name) => `this.${name} = new ${pascalCase(name)}Resource(transport);`).join('\n')}
      }
    }\n`;
  const types = `import type { ${[...used].toSorted().join(', ')} } from './types.ts';`;
  return `${HEAD}${types}\n\n${[...classes, all].join('\n')}`;

  function methodText(name: string, id: string, repeat: string): string {
    const operation = operations.find(({ operationId }) => operationId === id);
    if (!operation) throw new Error(`the document has no operation ${id}`);
    const { path, method, summary, description, requestBody } = operation;
    const ids = Array.from(path.matchAll(/\{(\w+)\}/g), ([, each]) => each!);
    const query = queryOf(api, operation).length > 0 && use(NAMES[id]!);
    const { 'application/json': json, 'text/csv': csv } = requestBody?.content ?? {};
    const item = method === 'GET' ? itemOf(api, answerOf(operation)) : undefined;
    const isRequired = requestBody?.required === true || method === 'PATCH';
    const parameters = [
      ...ids.map((each) => `${each}: string`),
      csv && 'csv: string',
      json && `params: ${use(publicName(json.schema.$ref))}${isRequired ? '' : ' = {}'}`,
      query && (item ? `params?: ${query}` : `params: ${query} = {}`),
      'options?: RequestOptions',
    ];
    const fields = [
      `path: '${path}'`,
      ids.length > 0 && `params: { ${ids.join(', ')} }`,
      query && !item && 'query: { ...params }',
      json && `body: ${repeat === 'keyed' ? 'withKey(this.#transport, params)' : 'params'}`,
      csv && "file: { type: 'text/csv', text: csv }",
      'options',
    ];
    const [type, body] = resultText(operation, item, text(fields), repeat);
    return `${docOf(`${summary}. ${description}`)}${name}(${text(parameters)}): ${type} { return ${body}; }`;
  }

  function resultText(
    operation: Operation & { method: string; path: string },
    item: Schema | undefined,
    fields: string,
    repeat: string,
  ): [type: string, body: string] {
    const reference = answerOf(operation);
    if (reference === undefined) {
      return ['AsyncGenerator<string>', `this.#transport.stream({ type: 'text/csv', ${fields} })`];
    }
    if (item) {
      const special = READERS[nameIn(reference)];
      const reader = special === undefined ? '' : `, read: ${special}`;
      return [`TillwayList<${use(publicName(item.$ref))}>`, `listOf(this.#transport, { ${fields}${reader} }, params)`];
    }
    const [type, read] = readerOf(reference);
    const repeatable = { keyed: 'true', yes: 'true', no: 'false' }[repeat] ?? repeat;
    const rest = `method: '${operation.method}', ${fields}, repeatable: ${repeatable}, read: ${read}`;
    return [`TillwayPromise<${type}>`, `call(this.#transport, { ${rest} })`];
  }

  /** The type of a JSON response, and the expression that reads it. */
  function readerOf(reference: string): [type: string, read: string] {
    const schema = api.components.schemas[nameIn(reference)]!;
    const base = schema.allOf?.[0] && api.components.schemas[nameIn(schema.allOf[0].$ref)];
    const { object, action, result, data }: Record<string, Schema> = {
      ...base?.properties,
      ...schema.allOf?.[1]?.properties,
      ...schema.properties,
    };
    if (action) return readAs(result?.$ref, (type) => `resultOf<${type}>('${String(action.const)}')`);
    if (object?.const === 'list') {
      const type = use(publicName(data?.items?.$ref));
      return [`Page<${type}>`, `readPage<${type}>`];
    }
    const special = READERS[nameIn(reference)];
    return readAs(reference, (type) => special ?? `resource<${type}>('${String(object?.const)}')`);
  }

  function readAs(reference: string | undefined, read: (type: string) => string): [type: string, read: string] {
    const type = use(publicName(reference));
    return [type, read(type)];
  }

  function use(name: string): string {
    used.add(name);
    return name;
  }
}

function text(parts: (string | false | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== false).join(', ');
}
