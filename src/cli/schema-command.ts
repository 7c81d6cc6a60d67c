import type { Command } from 'commander';
import { type CommandContext, type Paint, describedCommand } from './command-context.ts';
import { table } from './table.ts';
import { type Cell, plain } from './cells.ts';

/** JSON Schema keywords that the command shows. */
interface Schema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  format?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

export function schemaCommand(context: CommandContext): Command {
  const command = describedCommand('schema [operation]', {
    summary: 'Show the input and output schema of an API operation',
    details: 'Without an operation, lists all operations. With --json, prints the JSON Schemas.',
    examples: ['tillway schema', 'tillway schema checkout.create', 'tillway schema fees.estimate --json'],
  });
  return command.action(async (operation: string | undefined) => {
    const client = context.client(command);
    if (operation === undefined) {
      const { schemas } = await client.capabilities();
      return context.tell(command, schemas, ({ operations }) => {
        return `${operations.map(plain).join('\n')}\n\nShow a schema: tillway schema ${plain(operations[0]!)}\n`;
      });
    }
    context.tell(command, await client.schema(operation), ({ inputSchema, outputSchema }, paint) => {
      return `${section('Input', inputSchema, paint)}\n${section('Output', outputSchema, paint)}`;
    });
  });
}

function section(title: string, schema: Schema, paint: Paint): string {
  const rows = rowsOf(schema, '');
  return `${paint('bold', title)}\n${rows.length === 0 ? 'Nothing.\n' : table(['FIELD', 'TYPE', '', 'MEANING'], rows, paint)}`;
}

function rowsOf({ properties = {}, required = [], items }: Schema, path: string): Cell[][] {
  const own = Object.entries(properties).flatMap(([name, property]) => {
    const isRequired = required.includes(name) ? 'required' : '';
    const row: Cell[] = [`${path}${name}`, typeOf(property), isRequired, property.description ?? ''];
    return [row, ...rowsOf(property, `${path}${name}.`)];
  });
  return items ? [...own, ...rowsOf(items, path.replace(/\.$/, '[].'))] : own;
}

function typeOf({ type, format, enum: values, const: only }: Schema): string {
  if (values) return values.map(String).join(' | ');
  if (only !== undefined) return JSON.stringify(only);
  const types = Array.isArray(type) ? type.join(' or ') : (type ?? 'any');
  return format === undefined ? types : `${types} (${format})`;
}
