import type { Command, Option } from 'commander';
import type { Page, Tillway, TillwayList } from '../../sdk/src/index.ts';
import { complaintOf } from './complaint.ts';
import { type CommandContext, type Paint, describedCommand, jsonLineOf, ownOptions } from './command-context.ts';
import { type Columns, type Fields, columnsOf, rowOf, showTable } from './record-fields.ts';
import { growingTable } from './table.ts';
import { environmentOption, option, wholeNumberOption } from './options.ts';
import { plain } from './cells.ts';

/** Description of a list command. */
export interface Listing<Item extends { id: string }> extends Columns<Item> {
  /** Plural name of the records: `payments`. */
  name: string;
  /** Command path without `tillway`; default `<name> list`. */
  path?: string;
  /** Filters in addition to --environment; named like the API parameters, in kebab-case. */
  filters?: readonly Option[];
  /** Options of each further example; the first example has none. */
  examples: readonly string[];
  list(client: Tillway, query: object): TillwayList<Item>;
}

const ITEMS_PER_REQUEST = 100;

/** Creates a command such as `tillway payments list`, which prints one page, or all pages with --all. */
export function listCommand<Item extends { id: string }>(context: CommandContext, listing: Listing<Item>): Command {
  const { name, path = `${name} list`, filters = [], examples, list } = listing;
  const columns = columnsOf(listing);
  const command = describedCommand(path.split(' ').at(-1)!, {
    summary: `List ${name}, newest first`,
    examples: [`tillway ${path}`, ...examples.map((args) => `tillway ${path} ${args}`)],
    options: [
      ...filters,
      environmentOption(`${name} of this environment; default both`),
      wholeNumberOption('--limit', 'page size, 1 to 100; default 20', '20'),
      option('--starting-after <id>', 'page after (older than) this record'),
      option('--ending-before <id>', 'page before (newer than) this record').conflicts('startingAfter'),
      // With --all, --limit would only set the page size of the requests, which has no visible effect.
      option('--all', 'print all pages').conflicts(['limit', 'endingBefore']),
    ],
  });
  return command.action(async () => {
    const { all, ...query } = ownOptions(command);
    const client = context.client(command);
    if (all) return writeAll(context, command, list(client, { ...query, limit: ITEMS_PER_REQUEST }).pages(), columns);
    const isBackward = query['endingBefore'] !== undefined;
    context.tell(command, await list(client, query), (page, paint) => {
      return showTable(columns)(page.data, paint) + nextPage(page, isBackward, paint);
    });
  });
}

/** Line with the option that requests the next page in the same direction; empty on the last page. */
function nextPage({ data, hasMore, searchedTo }: Page<{ id: string }>, isBackward: boolean, paint: Paint): string {
  const last = searchedTo ?? data.at(isBackward ? 0 : -1)?.id;
  if (!hasMore || last === undefined) return '';
  return paint('dim', `next page: --${isBackward ? 'ending-before' : 'starting-after'} ${plain(last)}\n`);
}

/** Writes all pages as they arrive; with --json as one document, with an `error` field if a later page fails. */
async function writeAll<Item>(
  context: CommandContext,
  command: Command,
  pages: AsyncIterable<Page<Item>>,
  columns: Fields<Item>,
): Promise<void> {
  const { write, complain } = context.terminal;
  const isJson = context.isJson(command);
  const growing = growingTable(Object.keys(columns), context.paint(command));
  let isOpen = false;
  let count = 0;
  try {
    for await (const { data } of pages) {
      if (isJson && !isOpen) write('{"object":"list","data":[');
      isOpen = true;
      if (isJson)
        for (const [index, item] of data.entries()) write(`${count + index > 0 ? ',' : ''}\n${jsonLineOf(item)}`);
      else if (data.length > 0) write(growing.add(data.map((item) => rowOf(columns, item))));
      count += data.length;
    }
  } catch (cause) {
    const error = context.misread(command, cause);
    const complaint = complaintOf(error, command, context);
    // If the first page fails, nothing was written yet: the error response is the whole document.
    if (!isJson || !isOpen || !complaint) throw error;
    write(`\n],"hasMore":true,"error":${jsonLineOf(complaint.document.error)}}\n`);
    complain(`tillway: ${complaint.text}`);
    return context.fail(complaint.exitCode);
  }
  write(isJson ? '\n],"hasMore":false}\n' : count === 0 ? 'None.\n' : growing.end());
}
