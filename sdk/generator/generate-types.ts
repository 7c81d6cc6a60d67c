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
import { CONDITION, NAMES, PARTS, publicName } from './public-names.ts';

const PAGING = ['limit', 'startingAfter', 'endingBefore'];
const HEAD = `
  import type { PageParams } from '../list.ts';
  import type { RuleCondition } from '../rule-condition.ts';

  /** ISO 8601 in UTC with milliseconds: \`2026-01-15T09:30:00.000Z\`. \`new Date(value)\` reads it. */
  export type Timestamp = string;
  /** An event of one type. \`Part\` is the field of \`data\` that only this type has. */
  export type EventOf<Type extends string, Status extends ProviderStatus, Part extends 'refund' | 'dispute' = never> =
    AnyEvent & { type: Type; data: { status: Status } & { [Key in Part]: NonNullable<AnyEvent['data'][Key]> } };
  export type EventData<Status extends ProviderStatus = ProviderStatus> = EventOf<WebhookEventType, Status>['data'];
`;
/** Status and part of the events whose type is not that of a status. */
const PARAMETERS: Record<string, string> = {
  'payment.refunded': "'paid', 'refund'",
  'payment.disputed': "'paid', 'dispute'",
};
/** Envelopes, and the schema that \`AnyEvent\` is declared from. */
const NOT_DECLARED = /(?:List|Response)$|^(?:ActionError|HasMore|WebhookEvent)$/;

/** The source of all types of the API. */
export function typesText(api: ApiDocument): string {
  const { schemas } = api.components;
  const declared = [
    ...Object.entries(PARTS).map(([name, path]): [string, Schema] => [name, schemaAt(schemas, path)]),
    ...Object.entries(schemas).flatMap(([name, schema]): [string, Schema][] =>
      name in NAMES || !NOT_DECLARED.test(name) ? [[publicName(name), schema]] : [],
    ),
  ];
  const names = new Map<string, string>();
  for (const [name, schema] of [...declared, ['RuleCondition', schemaAt(schemas, CONDITION)] as const]) {
    const shape = shapeOf(schema);
    if (shape !== undefined) names.set(shape, name);
  }
  const events = Object.entries(api.webhooks).map(([type, { post }]) => {
    const rest = PARAMETERS[type] ?? `'${type.slice(type.indexOf('.') + 1)}'`;
    return { name: `${pascalCase(type)}Event`, doc: docOf(post.description), of: `EventOf<'${type}', ${rest}>` };
  });
  const operations = Object.values(api.paths).flatMap((methods) => Object.values(methods));
  return [
    HEAD,
    ...events.map(({ name, doc, of }) => `${doc}export type ${name} = ${of};`),
    '/** The body of a webhook. `switch (event.type)` narrows it. Fulfil orders on `payment.paid` only. */',
    `export type WebhookEvent = ${events.map(({ name }) => name).join(' | ')};`,
    declarationOf('AnyEvent', schemas['WebhookEvent']!),
    ...declared.map(([name, schema]) => declarationOf(name, schema)),
    ...operations.map(queryDeclaration),
  ].join('\n');

  function typeOf(schema: Schema): string {
    const isNullable = Array.isArray(schema.type) && schema.type.includes('null');
    return (names.get(shapeOf(schema) ?? '') ?? inlineTypeOf(schema)) + (isNullable ? ' | null' : '');
  }

  function inlineTypeOf(schema: Schema): string {
    const { $ref, const: value, enum: values, anyOf, additionalProperties: rest } = schema;
    if ($ref !== undefined) return publicName(nameIn($ref));
    if (value !== undefined) return JSON.stringify(value);
    // Query parameters are text.
    if (values?.join() === 'true,false') return 'boolean';
    if (values) return values.flatMap((each) => (each === null ? [] : [JSON.stringify(each)])).join(' | ');
    // An alternative to a single value; callers often have a constant array.
    if (anyOf) return anyOf.map((each) => (each.items ? `readonly ${typeOf(each)}` : typeOf(each))).join(' | ');
    if (schema.properties) return objectOf(schema);
    if (schema.items) return `(${typeOf(schema.items)})[]`;
    if (typeof rest === 'object') return `Record<string, ${typeOf(rest)}>`;
    if (schema.format === 'date-time') return 'Timestamp';
    const [type = 'unknown'] = [schema.type ?? []].flat();
    return type === 'integer' ? 'number' : type;
  }

  function objectOf({ properties = {}, required = [] }: Schema): string {
    const fields = Object.entries(properties).map(([name, schema]) => {
      const type = typeOf(schema);
      const optional = type === 'unknown' ? '?: unknown' : `?: ${type} | undefined`;
      const field = name + (required.includes(name) ? `: ${type}` : optional);
      return `${docOf(schema.description)}${field};`;
    });
    return `{\n${fields.join('\n')}\n}`;
  }

  function declarationOf(name: string, schema: Schema, parent?: string): string {
    const [base, own = schema] = schema.allOf ?? [];
    const extended = base ? publicName(nameIn(base.$ref)) : parent;
    const heading = `${docOf(own.description)}export ${own.properties ? 'interface' : 'type'} ${name}`;
    if (!own.properties) return `${heading} = ${inlineTypeOf(own)};`;
    return `${heading}${extended === undefined ? '' : ` extends ${extended}`} ${objectOf(own)}\n`;
  }

  function queryDeclaration(operation: Operation): string {
    const parameters = queryOf(api, operation);
    if (parameters.length === 0) return '';
    const isPaged = PAGING.every((name) => parameters.some((parameter) => parameter.name === name));
    const item = schemas[nameIn(itemOf(api, answerOf(operation))?.$ref)]?.properties ?? {};
    const own = parameters.filter(({ name }) => !isPaged || !PAGING.includes(name));
    const properties = own.map(({ name, schema, description }): [string, Schema] => {
      // The service accepts any text as a filter. The type has the values that can match.
      const values = schema.enum ?? item[name]?.enum;
      return [name, { ...schema, ...(values && { enum: values }), description }];
    });
    const query = { properties: Object.fromEntries(properties) };
    return declarationOf(publicName(operation.operationId), query, isPaged ? 'PageParams' : undefined);
  }
}

/** The part of a schema at a path such as `RuleSet.rules[].then` or, for an alternative, `RouteSelector.2`. */
function schemaAt(schemas: Record<string, Schema>, path: string): Schema {
  const [name = '', ...fields] = path.split('.');
  let schema = schemas[name];
  for (const field of fields) {
    const inside = { ...schema?.properties, ...schema?.allOf?.[1]?.properties };
    const next = inside[field.replace('[]', '')] ?? schema?.anyOf?.[Number(field)];
    schema = field.endsWith('[]') ? next?.items : next;
  }
  if (!schema) throw new Error(`the document has no ${path}`);
  return schema;
}

/** The same text for two schemas with the same values or properties, whatever their descriptions. */
function shapeOf({ enum: values, properties, required }: Schema): string | undefined {
  if (values) return JSON.stringify(values.filter((value) => value !== null));
  const isText = (key: string, value: unknown) => key === 'description' && typeof value === 'string';
  return (
    properties &&
    JSON.stringify([properties, required], (key, value: unknown) => (isText(key, value) ? undefined : value))
  );
}
