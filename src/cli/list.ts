import { type Command, Option } from 'commander';
import type { Page, Tillway, TillwayList } from '../../sdk/src/index.ts';
import { complaintOf } from './complaint.ts';
import { type CommandContext, describedCommand, jsonOf } from './context.ts';
import { type GrowingTable, growingTable, table } from './table.ts';
import { environmentOption, wholeNumberOf } from './values.ts';
import { type Cell, plain } from './words.ts';

interface PageQuery {
  limit?: number;
  startingAfter?: string;
  endingBefore?: string;
}

interface CommonOptions {
  url?: string;
  json?: boolean;
  color?: boolean;
  all?: boolean;
}

/** How the records of one kind are listed. */
export interface Listing<Item extends { id: string }, Query> {
  /** In the plural: `payments`. */
  name: string;
  /** The command behind `tillway`; default `<name> list`. */
  path?: string;
  /** Filters beside --environment; their names are those of the API in kebab-case. */
  options: Option[];
  examples: readonly string[];
  headings: readonly string[];
  row(item: Item): Cell[];
  list(client: Tillway, query: Query & PageQuery): TillwayList<Item>;
}

const ITEMS_PER_REQUEST = 100;

/** `tillway payments list` and its like: one page, or with --all everything as it arrives. */
export function listCommand<Item extends { id: string }, Query>(
  context: CommandContext,
  { name, path = `${name} list`, options, examples, headings, row, list }: Listing<Item, Query>,
): Command {
  const command = describedCommand(path.split(' ').at(-1)!, {
    summary: `List ${name}, newest first`,
    examples: [`tillway ${path}`, ...examples],
  });
  for (const option of options) command.addOption(option);
  command
    .addOption(environmentOption('only those of this environment; left out, both'))
    .option('--limit <number>', 'how many on a page, 1 to 100; default 20', (text) =>
      wholeNumberOf('--limit', text, '20'),
    )
    .option('--starting-after <id>', 'the page of records older than this one')
    .addOption(new Option('--ending-before <id>', 'the page of records newer than this one').conflicts('startingAfter'))
    .addOption(
      // A page of its size is all that --limit could mean there, and nobody would see it.
      new Option('--all', 'all of them, as they arrive').conflicts(['limit', 'endingBefore']),
    );

  return command.action(async () => {
    const { url: _url, json, color: _color, all, ...query } = command.opts<CommonOptions & Query & PageQuery>();
    const paint = context.paint(command);
    if (!all) {
      const page = await list(context.client(command), query as Query & PageQuery);
      context.tell(command, page, ({ data }) => table(headings, data.map(row), paint));
      const next = json ? undefined : nextPage(page, query.endingBefore);
      if (next !== undefined) context.terminal.write(paint('dim', `more: ${next}\n`));
      return;
    }
    const pages = list(context.client(command), { limit: ITEMS_PER_REQUEST, ...(query as Query & PageQuery) }).pages();
    const growing = growingTable(headings, paint);
    return json ? writeDocument(context, command, pages) : writeTable(context, command, pages, row, growing);
  });
}

function nextPage({ data, hasMore }: Page<{ id: string }>, endingBefore: string | undefined): string | undefined {
  const next = endingBefore === undefined ? data.at(-1) : data[0];
  if (!hasMore || next === undefined) return undefined;
  return `${endingBefore === undefined ? '--starting-after' : '--ending-before'} ${plain(next.id)}`;
}

async function writeTable<Item>(
  context: CommandContext,
  command: Command,
  pages: AsyncIterable<Page<Item>>,
  row: (item: Item) => Cell[],
  growing: GrowingTable,
): Promise<void> {
  let count = 0;
  try {
    for await (const { data } of pages) {
      if (data.length > 0) context.terminal.write(growing.add(data.map(row)));
      count += data.length;
    }
  } catch (cause) {
    throw context.misread(command, cause);
  }
  context.terminal.write(count === 0 ? 'None.\n' : growing.end());
}

/** One document of the shape of a page, written while the pages arrive; with `error` where a later one did not. */
async function writeDocument(
  context: CommandContext,
  command: Command,
  pages: AsyncIterable<Page<unknown>>,
): Promise<void> {
  const { write, complain } = context.terminal;
  let before = '';
  const end = (more: string) => write(`${before === ',\n' ? '\n  ' : ''}],\n  "hasMore": ${more}\n}\n`);
  try {
    for await (const { data } of pages) {
      write(before === '' ? '{\n  "object": "list",\n  "data": [' : '');
      before ||= '\n';
      for (const item of data) {
        write(`${before}${indented(jsonOf(item), 4)}`);
        before = ',\n';
      }
    }
  } catch (cause) {
    const error = context.misread(command, cause);
    const url = () => context.urlOf(command);
    const complaint = complaintOf(error, { command, url, paint: context.paintErrors(command) });
    // Before the first page the refusal itself is the document.
    if (before === '' || !complaint) throw error;
    end(`true,\n  "error": ${indented(jsonOf(complaint.document.error), 2).trimStart()}`);
    complain(`tillway: ${complaint.text}`);
    return context.fail(complaint.exitCode);
  }
  end('false');
}

function indented(text: string, spaces: number): string {
  return text
    .split('\n')
    .map((line) => `${' '.repeat(spaces)}${line}`)
    .join('\n');
}
