import type { Command } from 'commander';
import type { Tillway, TillwayList } from '../../sdk/src/index.ts';
import type { CommandContext, CommandDescription, Paint } from './command-context.ts';
import { type Fields, showFacts } from './record-fields.ts';
import { commandGroup } from './command-group.ts';
import { type Listing, listCommand } from './list-command.ts';
import { serviceCommand } from './service-command.ts';

/** A kind of record with its commands: list, get, and actions on one of them. */
export interface Resource<Item extends { id: string }, Details extends Item = Item> extends Listing<Item> {
  /** The line for the group in the list of commands. */
  summary: string;
  /** The operand of its commands: `payment`. */
  one: string;
  /** An id for the examples. */
  id: string;
  get: Pick<CommandDescription, 'summary' | 'details'> & { examples?: readonly string[] };
  facts: Fields<Item>;
  /** The text below the facts of one record. */
  more?(details: Details, paint: Paint): string;
  from(client: Tillway): { list(query: never): TillwayList<Item>; get(id: string): PromiseLike<Details> };
  actions?: Actions;
  /** Further commands, by name. */
  others?: readonly Command[];
  /** The first commands in the help; default: list and get. */
  order?: readonly string[];
}

/** A command on one record. */
interface Action extends Pick<CommandDescription, 'summary' | 'details' | 'options'> {
  /** The operand and an id for the examples, unless they are those of the resource. */
  of?: readonly [operand: string, id: string];
  /** The options of each example; default: one example without options. */
  examples?: readonly string[];
  run(client: Tillway, id: string, options: never): PromiseLike<unknown>;
  /** Default: the facts, if the answer is the record. */
  show?(answer: never, paint: Paint): string;
  isFailure?(answer: never): boolean;
}

/** Commands on one record, by name. */
export type Actions = Readonly<Record<string, Action>>;

/** The group of commands of a resource. Without a command, the group lists. */
export function resourceCommand<Item extends { id: string }, Details extends Item = Item>(
  context: CommandContext,
  resource: Resource<Item, Details>,
): Command {
  const { name, one, id: exampleId, from, more, actions = {}, others = [], order = ['list', 'get'] } = resource;
  const show = showFacts(resource.facts);
  const get = serviceCommand<Details>(context, `get <${one}>`, {
    examples: [`tillway ${name} get ${exampleId}`],
    ...resource.get,
    ask: (client, _options, id) => from(client).get(id),
    show: (details, paint) => show(details, paint) + (more?.(details, paint) ?? ''),
  });
  const commands = [
    listCommand(context, resource),
    get,
    ...Object.entries(actions).map(([verb, { of = [one, exampleId], examples = [''], run, ...action }]) =>
      serviceCommand<never, never>(context, `${verb} <${of[0]}>`, {
        show,
        ...action,
        examples: examples.map((options) => `tillway ${name} ${verb} ${of[1]} ${options}`.trim()),
        ask: (client, options, id) => run(client, id, options) as PromiseLike<never>,
      }),
    ),
    ...others,
  ];
  const rank = (command: Command) => (order.includes(command.name()) ? order.indexOf(command.name()) : order.length);
  const ordered = commands.toSorted((a, b) => rank(a) - rank(b));
  return commandGroup(name, resource.summary, ordered, { otherwise: 'list' });
}
