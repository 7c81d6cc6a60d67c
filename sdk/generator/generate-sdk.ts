import type { JsonSchema } from '../../src/contract/json-schema.ts';
import { type OpenApi, parametersOf, resolveResponse } from '../../src/contract/openapi-document.ts';

const TYPES_HEAD = `import type { RuleCondition } from '../rule-condition.ts';
  import type { Timestamp, WebhookEvent } from '../webhook-event.ts';
  export type * from '../webhook-event.ts';\n\n`;
const RESOURCES_HEAD = `import { readEvent, readPage, readRoutes, resource, resultOf } from '../answers.ts';
  import { Resource, call, listOf, withKey } from '../call.ts';
  import type { Page, TillwayList } from '../list.ts';
  import type { TillwayPromise } from '../promise.ts';
  import type { RequestOptions } from '../transport.ts';
  import type * as api from './types.ts';\n\n`;
/** Operations whose methods are written by hand in `src/client.ts`. */
const HAND_WRITTEN = ['capabilities', 'getSchema'];
/** Methods, by operation, and resources that have another name in the path. */
const METHODS: Record<string, string> = {
  createRefund: 'refunds.create',
  listRefundsOfPayment: 'refunds.listOfPayment',
  settlePayment: 'settlements.settle',
  getRecovery: 'webhookEndpoints.recovery',
  saveRoutingRules: 'routing.saveRules',
  overrideRouteHealth: 'routing.overrideHealth',
};
const RESOURCES: Record<string, string> = { keys: 'apiKeys', webhook: 'webhooks' };
/**
 * Methods that the client repeats after a 429 only. A second request would send an event or move the clock twice (`test`,
 * `replay`, `resend`, `advance`); or be rejected, which hides that the first one succeeded (`resolve`, `delete`,
 * `overrideHealth`); or leave two endpoints or keys, or an unknown secret (`create` without a key, `rotateSecret`).
 */
const NOT_REPEATABLE = /^(?:test|replay|resend|advance|resolve|delete|overrideHealth|create|rotateSecret)$/;

const capitalized = (name: string) => name[0]!.toUpperCase() + name.slice(1);
const docOf = (description?: string) => (description ? `/** ${description.replaceAll('\n', '\n * ')} */\n` : '');
/** Public name of the type for a schema, by its name or a reference to it. */
const typeName = (schema = '') => schema.replace(/.*\//, '').replace(/Request$/, 'Params');

type Operation = ReturnType<typeof operationsOf>[number];

function operationsOf(api: OpenApi) {
  return Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, operation]) => ({
      ...operation,
      path,
      verb,
      queryName: `${capitalized(operation.operationId)}Params`,
      query: parametersOf(api, operation).filter((parameter) => parameter.in === 'query'),
      response: resolveResponse(api, operation.responses['200'])?.content?.['application/json']?.schema,
    })),
  );
}

/** The properties of a schema, with those of the schemas that it refers to. */
function propertiesOf(api: OpenApi, { $ref, allOf = [], properties }: JsonSchema = {}): Record<string, JsonSchema> {
  const target = $ref === undefined ? {} : propertiesOf(api, api.components.schemas[$ref.replace(/.*\//, '')]);
  return Object.assign(target, ...allOf.map((each) => propertiesOf(api, each)), properties);
}

/** The source of the types of all schemas but envelopes, and of the query parameters of all operations. */
export function typesText(api: OpenApi): string {
  const schemas = Object.entries(api.components.schemas).filter(([name]) => !/(?:List|Response)$/.test(name));
  const queries = operationsOf(api)
    .filter(({ query }) => query[0])
    .map(({ query, queryName, response }): [string, JsonSchema] => {
      const record = propertiesOf(api, propertiesOf(api, response).data?.items);
      // The service accepts any text as a filter. The type has the values that can match.
      const fields = query.map((each) => [each.name, { enum: record[each.name]?.enum, ...each.schema, ...each }]);
      return [queryName, { properties: Object.fromEntries(fields) }];
    });
  const declarations = [...schemas, ...queries].map(([name, schema]) => {
    // `WebhookEvent`, the union of all events, is written by hand.
    const type = name === 'WebhookEvent' ? 'AnyEvent' : typeName(name);
    const heading = schema.properties ? `interface ${type}` : `type ${type} =`;
    return `${docOf(schema.description)}export ${heading} ${typeOf(schema)}`;
  });
  return TYPES_HEAD + declarations.join('\n\n');
}

function typeOf(schema: JsonSchema): string {
  const { $ref, type = 'unknown', anyOf, allOf, properties, required, items, additionalProperties: rest } = schema;
  const values = 'const' in schema ? [schema.const] : schema.enum;
  if ($ref !== undefined) return typeName($ref);
  // Query parameters are text.
  if (values?.join() === 'true,false') return 'boolean';
  if (values) return values.map((each) => JSON.stringify(each)).join(' | ');
  if (allOf) return allOf.map(typeOf).join(' & ');
  // An alternative to a single value; callers often have a constant array.
  if (anyOf) return anyOf.map((each) => (each.items ? `readonly ${typeOf(each)}` : typeOf(each))).join(' | ');
  // The only schema with patterns is that of rule conditions, whose type is written by hand.
  if ('patternProperties' in schema) return 'RuleCondition';
  if (Array.isArray(type)) return `${typeOf({ ...schema, type: type[0]! })} | null`;
  if (items) return `(${typeOf(items)})[]`;
  if (typeof rest === 'object') return `Record<string, ${typeOf(rest)}>`;
  if (!properties) return schema.format === 'date-time' ? 'Timestamp' : type.replace('integer', 'number');
  const fields = Object.entries(properties).map(([name, field]) => {
    const type = typeOf(field);
    const optional = type === 'unknown' ? '?: unknown' : `?: ${type} | undefined`;
    return `${docOf(field.description)}${name}${required?.includes(name) ? `: ${type}` : optional};`;
  });
  return `{\n${fields.join('\n')}\n}`;
}

/** The source of the classes with a method for each operation. */
export function resourcesText(api: OpenApi): string {
  const methods: Record<string, string> = {};
  for (const operation of operationsOf(api).filter(({ operationId }) => !HAND_WRITTEN.includes(operationId))) {
    const [resource = '', name = ''] = methodName(operation).split('.');
    methods[resource] = `${methods[resource] ?? ''}\n\n${methodText(api, name, operation)}`;
  }
  const names = Object.keys(methods);
  const classOf = (name: string) => `${capitalized(name)}Resource`;
  const classes = names.map((name) => `export class ${classOf(name)} extends Resource { ${methods[name]} }\n\n`);
  const fields = names.map((name) => `readonly ${name}: ${classOf(name)} = new ${classOf(name)}(this.transport);`);
  return `${RESOURCES_HEAD}${classes.join('')}
    /** The resources of the API. */
    export class ApiResources extends Resource { ${fields.join('\n')} }`;
}

/** Resource and method of the client, for example `webhookEndpoints.rotateSecret`. */
function methodName({ path, operationId: id }: Operation): string {
  const [resource = '', ...rest] = path
    .replaceAll(/^\/api\/\w+\/(?:actions\/)?|\/\{\w+\}/g, '')
    .replaceAll(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase())
    .split(/[/.]/);
  return METHODS[id] ?? `${RESOURCES[resource] ?? resource}.${rest.at(-1) ?? /^[a-z]+/.exec(id)![0]}`;
}

function methodText(api: OpenApi, name: string, operation: Operation): string {
  const { path, verb, query, queryName, requestBody, summary, description } = operation;
  const { 'application/json': json, 'text/csv': csv } = requestBody?.content ?? {};
  const ids = Array.from(path.matchAll(/\{(\w+)\}/g), ([, each]) => each!);
  const isOptional = !json || (!requestBody?.required && verb !== 'patch');
  const isKeyed = name === 'create' && 'idempotencyKey' in propertiesOf(api, json?.schema);
  const isRepeatable = verb === 'get' || isKeyed || !NOT_REPEATABLE.test(name);
  const [result, send, read] = responseText(api, operation);
  const parameters = [
    ...ids.map((id) => `${id}: string`),
    csv && 'csv: string',
    (json ?? query[0]) && `params: api.${json ? typeName(json.schema.$ref) : queryName}${isOptional ? ' = {}' : ''}`,
    'options?: RequestOptions',
  ];
  const request = [
    `method: '${verb.toUpperCase()}', path: '${path}'`,
    ids[0] && `params: { ${ids.join(', ')} }`,
    query[0] && 'query: { ...params }',
    json && `body: ${isKeyed ? 'withKey(this.transport, params)' : 'params'}`,
    csv && "file: { type: 'text/csv', text: csv }",
    // A second recovery sends pending deliveries once, but acknowledged ones twice.
    `options, repeatable: ${name === 'recover' ? 'params.all !== true' : isRepeatable}, ${read}`,
  ];
  return `${docOf(`${summary}. ${description}`)}${name}(${parameters.filter(Boolean).join(', ')}): ${result} {
    return ${send}{ ${request.filter(Boolean).join(', ')} });
  }`;
}

/** The type of a method, the function that it calls, and the property that describes the expected response. */
function responseText(api: OpenApi, { response, verb }: Operation): [type: string, send: string, read: string] {
  if (!response) return ['AsyncGenerator<string>', 'this.transport.stream(', "type: 'text/csv'"];
  const { object, data, routes, action, result } = propertiesOf(api, response);
  const list = object?.const === 'list' ? data : routes;
  const type = `api.${typeName((list?.items ?? result ?? response).$ref)}`;
  const page = routes ? 'read: readRoutes' : `read: readPage<${type}>`;
  if (list && verb === 'get') return [`TillwayList<${type}>`, 'listOf(this.transport, ', page];
  if (list) return [`TillwayPromise<Page<${type}>>`, 'call(this.transport, ', page];
  const name = String((action ?? object)?.const);
  const read = action ? `resultOf('${name}')` : object ? `resource('${name}')` : 'readEvent';
  return [`TillwayPromise<${type}>`, 'call(this.transport, ', `read: ${read}`];
}
