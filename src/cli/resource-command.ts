import type { Command } from 'commander';
import type { Tillway, TillwayList } from '../../sdk/src/index.ts';
import { type CommandContext, type CommandDescription, type Paint, serviceCommand } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { type Cells, columnsOf, showRecord } from './record-fields.ts';
import { commandGroup } from './command-group.ts';
import { type Listing, listCommand } from './list-command.ts';

type Resources = { [Name in keyof Tillway]: Tillway[Name] extends { list: unknown; get: unknown } ? Name : never };

/** Description of a resource and its commands: list, get, and actions on one record. */
export interface Resource<Item extends { id: string }, Details extends Item = Item> extends Pick<
  Listing<Item>,
  'filters' | 'examples'
> {
  /** Plural name: `payments`. */
  name: string;
  /** Singular name, also the operand and the key of the example id: `payment`. */
  one: keyof typeof EXAMPLE;
  /** Property of the SDK client; default `name`. */
  of?: Resources[keyof Tillway];
  /** Summary of the command group. */
  summary: string;
  columns: readonly string[];
  /** Cells that replace or extend the properties of a record. */
  cells?: Cells<Details>;
  get?: Partial<Pick<CommandDescription, 'summary' | 'details' | 'examples'>>;
  /** Returns additional text below one record. */
  more?(details: Details, paint: Paint): string;
  actions?: Actions;
  /** Additional commands of the group. */
  others?: readonly Command[];
  /** Commands that the help lists first; default: list and get. */
  order?: readonly string[];
}

/** A command on one record. */
interface Action extends Pick<CommandDescription, 'summary' | 'details' | 'options'> {
  /** Operand; default: the singular name of the resource. */
  on?: keyof typeof EXAMPLE;
  /** Options for each example; default: one example without options. */
  examples?: readonly string[];
  /** Default: the SDK method with the name of the action. */
  run?(client: Tillway, id: string, options: never): PromiseLike<unknown>;
  /** Default: shows the record, which the answer then must be. */
  show?(answer: never, paint: Paint): string;
  isFailure?(answer: never): boolean;
}

/** Commands on one record, by name. */
export type Actions = Readonly<Record<string, Action>>;

type Methods = Record<string, (id: string, options: unknown) => PromiseLike<never>>;

/** Creates the command group of a resource. Its default command is `list`. */
export function resourceCommand<Item extends { id: string }, Details extends Item = Item>(
  context: CommandContext,
  resource: Resource<Item, Details>,
): Command {
  const { name, one, of = name, columns, cells, more, actions = {}, others = [], order = ['list', 'get'] } = resource;
  const methods = (client: Tillway) => client[of as 'payments'] as unknown as Methods;
  const show = showRecord(one, cells);
  const get = serviceCommand<Details>(context, `get <${one}>`, {
    summary: `Show ${/^[aeiou]/.test(one) ? 'an' : 'a'} ${one}`,
    examples: [`tillway ${name} get ${EXAMPLE[one]}`],
    ...resource.get,
    ask: (client, _options, id) => methods(client)['get']!(id, undefined),
    show: (details, paint) => show(details, paint) + (more?.(details, paint) ?? ''),
  });
  const list = listCommand<Item>(context, {
    ...resource,
    columns: columnsOf(one, columns, cells as Cells<Item>),
    from: (client) => methods(client) as unknown as { list(query: never): TillwayList<Item> },
  });
  const acts = Object.entries(actions).map(([verb, { on = one, examples = [''], run, ...action }]) => {
    const method = verb.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    return serviceCommand<never, never>(context, `${verb} <${on}>`, {
      show,
      ...action,
      examples: examples.map((options) => `tillway ${name} ${verb} ${EXAMPLE[on]} ${options}`.trim()),
      ask: (client, options, id) =>
        run ? (run(client, id, options) as PromiseLike<never>) : methods(client)[method]!(id, options),
    });
  });
  const rank = (command: Command) => (order.includes(command.name()) ? order.indexOf(command.name()) : order.length);
  const ordered = [list, get, ...acts, ...others].toSorted((a, b) => rank(a) - rank(b));
  return commandGroup(name, resource.summary, ordered, { otherwise: 'list' });
}
