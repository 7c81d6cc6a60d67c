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
import { METHODS, READERS, REPEATABLE, publicName } from './public-names.ts';

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
    const texts = Object.entries(methods).map(([name, id]) => methodText(name, id));
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

  function methodText(name: string, id: string): string {
    const operation = operations.find(({ operationId }) => operationId === id);
    if (!operation) throw new Error(`the document has no operation ${id}`);
    const { path, method, summary, description, requestBody } = operation;
    const ids = Array.from(path.matchAll(/\{(\w+)\}/g), ([, each]) => each!);
    const query = queryOf(api, operation).length > 0 && use(id);
    const { 'application/json': json, 'text/csv': csv } = requestBody?.content ?? {};
    const item = method === 'GET' ? itemOf(api, answerOf(operation)) : undefined;
    const isRequired = requestBody?.required === true || method === 'PATCH';
    const parameters = [
      ...ids.map((each) => `${each}: string`),
      csv && 'csv: string',
      json && `params: ${use(nameIn(json.schema.$ref))}${isRequired ? '' : ' = {}'}`,
      query && (item ? `params?: ${query}` : `params: ${query} = {}`),
      'options?: RequestOptions',
    ];
    const fields = [
      `path: '${path}'`,
      ids.length > 0 && `params: { ${ids.join(', ')} }`,
      query && !item && 'query: { ...params }',
      json && `body: ${REPEATABLE[id] === 'keyed' ? 'withKey(this.#transport, params)' : 'params'}`,
      csv && "file: { type: 'text/csv', text: csv }",
      'options',
    ];
    const [type, body] = resultText(operation, item, text(fields));
    return `${docOf(`${summary}. ${description}`)}${name}(${text(parameters)}): ${type} { return ${body}; }`;
  }

  /** The type of a method, and the expression that it returns. */
  function resultText(
    operation: Operation & { method: string },
    item: Schema | undefined,
    fields: string,
  ): [type: string, body: string] {
    const answer = answerOf(operation);
    if (answer === '') return ['AsyncGenerator<string>', `this.#transport.stream({ type: 'text/csv', ${fields} })`];
    if (item) {
      const reader = READERS[answer] === undefined ? '' : `, read: ${READERS[answer]}`;
      return [`TillwayList<${use(nameIn(item.$ref))}>`, `listOf(this.#transport, { ${fields}${reader} }, params)`];
    }
    const [type, read] = readerOf(answer);
    const repeatable = (REPEATABLE[operation.operationId] ?? 'true').replace('keyed', 'true');
    const rest = `method: '${operation.method}', ${fields}, repeatable: ${repeatable}, read: ${read}`;
    return [`TillwayPromise<${type}>`, `call(this.#transport, { ${rest} })`];
  }

  /** The type of a JSON response, and the expression that reads it. */
  function readerOf(answer: string): [type: string, read: string] {
    const schema = api.components.schemas[answer]!;
    const base = schema.allOf?.[0] && api.components.schemas[nameIn(schema.allOf[0].$ref)];
    const { object, action, result, data }: Record<string, Schema> = {
      ...base?.properties,
      ...schema.allOf?.[1]?.properties,
      ...schema.properties,
    };
    if (!action && object?.const === 'list') {
      const type = use(nameIn(data?.items?.$ref));
      return [`Page<${type}>`, `readPage<${type}>`];
    }
    const type = use(action ? nameIn(result?.$ref) : answer);
    if (action) return [type, `resultOf<${type}>('${String(action.const)}')`];
    return [type, READERS[answer] ?? `resource<${type}>('${String(object?.const)}')`];
  }

  /** Imports the type for a schema, or for the query of an operation. */
  function use(name: string): string {
    used.add(publicName(name));
    return publicName(name);
  }
}

function text(parts: (string | false | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== false).join(', ');
}
