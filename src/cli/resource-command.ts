import type { Command } from 'commander';
import type { Tillway, TillwayList } from '../../sdk/src/index.ts';
import { type CommandContext, type CommandDescription, type Paint, serviceCommand } from './command-context.ts';
import { EXAMPLE } from './example-ids.ts';
import { showRecord } from './record-fields.ts';
import { commandGroup } from './command-group.ts';
import { type Listing, listCommand } from './list-command.ts';

type Resources = { [Name in keyof Tillway]: Tillway[Name] extends { list: unknown; get: unknown } ? Name : never };

/** Description of a resource and its commands: list, get and actions. */
export interface Resource<Item extends { id: string }> extends Omit<Listing<Item>, 'path' | 'list'> {
  /** Singular name, also the operand and the key of the example id: `payment`. */
  one: keyof typeof EXAMPLE;
  /** Property of the SDK client; default `name`. */
  of?: Resources[keyof Tillway];
  /** Summary of the command group. */
  summary: string;
  /** Changes of the usual command `get`. */
  get?: Partial<Action>;
  /** Further commands by name. */
  actions?: Readonly<Record<string, Action>>;
  /** Commands that the help lists first; default: list and get. */
  order?: readonly string[];
}

/** A command that sends one request. */
interface Action extends Pick<CommandDescription, 'summary' | 'details' | 'options'> {
  /** Operand; default: the singular name of the resource; null: no operand. */
  on?: keyof typeof EXAMPLE | null;
  /** Arguments of each example; default: one example with only the operand. */
  examples?: readonly string[];
  /** Default: the SDK method with the name of the action. */
  ask?(client: Tillway, options: never, ...operands: string[]): PromiseLike<unknown>;
  /** Default: shows the record, which the answer then must be. */
  show?(answer: never, paint: Paint): string;
  isFailure?(answer: never): boolean;
}

type Methods = Record<string, (...args: unknown[]) => PromiseLike<never>>;

/** Creates the command group of a resource. Its default command is `list`. `others` are additional commands of the group. */
export function resourceCommand<Item extends { id: string }>(
  context: CommandContext,
  resource: Resource<Item>,
  others: readonly Command[] = [],
): Command {
  const { name, one, of = name, cells, get, actions, order = ['list', 'get'] } = resource;
  const methods = (client: Tillway) => client[of as 'payments'] as unknown as Methods;
  const list = listCommand<Item>(context, {
    ...resource,
    list: (client, query) => methods(client)['list']!(query) as unknown as TillwayList<Item>,
  });
  const usualGet = { summary: `Show ${/^[aeiou]/.test(one) ? 'an' : 'a'} ${one}` };
  const requests = Object.entries<Action>({ get: { ...usualGet, ...get }, ...actions });
  const commands = requests.map(([verb, { on = one, ask, examples, ...action }]) => {
    const args = examples ?? [on === null ? '' : EXAMPLE[on]];
    const method = verb.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    return serviceCommand<never, never>(context, on === null ? verb : `${verb} <${on}>`, {
      ask: (client, options, ...operands) =>
        ask
          ? (ask(client, options, ...operands) as PromiseLike<never>)
          : methods(client)[method]!(...operands, options),
      show: showRecord(one, cells),
      ...action,
      examples: args.map((each) => `tillway ${name} ${verb} ${each}`),
    });
  });
  const rank = (command: Command) => (order.includes(command.name()) ? order.indexOf(command.name()) : order.length);
  const ordered = [list, ...commands, ...others].toSorted((a, b) => rank(a) - rank(b));
  return commandGroup(name, resource.summary, ordered, { otherwise: 'list' });
}
