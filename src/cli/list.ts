import { type Command, Option } from 'commander';
import type { Page, Tillway, TillwayList } from '../../sdk/src/index.ts';
import { type CommandContext, describedCommand, jsonOf } from './context.ts';
import { growingTable, table } from './table.ts';
import { environmentOption, wholeNumberOf } from './values.ts';
import type { Cell } from './words.ts';

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
  { name, options, examples, headings, row, list }: Listing<Item, Query>,
): Command {
  const command = describedCommand('list', {
    summary: `List ${name}, newest first`,
    examples: [`tillway ${name} list`, ...examples],
  });
  for (const option of options) command.addOption(option);
  command
    .addOption(environmentOption('only those of this environment; left out, both'))
    .option('--limit <number>', 'how many at most, 1 to 100; default 20', (text) =>
      wholeNumberOf('--limit', text, '20'),
    )
    .option('--starting-after <id>', 'the page of records older than this one')
    .addOption(new Option('--ending-before <id>', 'the page of records newer than this one').conflicts('startingAfter'))
    .addOption(new Option('--all', 'all of them, page by page, as they arrive').conflicts('endingBefore'));

  return command.action(async () => {
    const { url: _url, json, color: _color, all, ...query } = command.opts<CommonOptions & Query & PageQuery>();
    const paint = context.paint(command);
    if (!all) {
      const page = await list(context.client(command), query as Query & PageQuery);
      context.tell(command, page, ({ data }) => table(headings, data.map(row), paint));
      if (page.hasMore && !json) context.terminal.write(paint('dim', `${more(page, query.endingBefore)}\n`));
      return;
    }
    const pages = list(context.client(command), { limit: ITEMS_PER_REQUEST, ...(query as Query & PageQuery) }).pages();
    if (json) return writeDocument(pages, context.terminal.write);
    const tell = growingTable(headings, paint);
    let count = 0;
    for await (const { data } of pages) {
      if (data.length > 0) context.terminal.write(tell(data.map(row)));
      count += data.length;
    }
    if (count === 0) context.terminal.write('None.\n');
  });
}

function more({ data }: Page<{ id: string }>, endingBefore: string | undefined): string {
  const next = endingBefore === undefined ? `--starting-after ${data.at(-1)!.id}` : `--ending-before ${data[0]!.id}`;
  return `more: ${next}`;
}

/** One document of the shape of a page, written while the pages arrive. */
async function writeDocument(pages: AsyncIterable<Page<unknown>>, write: (text: string) => void): Promise<void> {
  let before = '';
  for await (const { data } of pages) {
    write(before === '' ? '{\n  "object": "list",\n  "data": [' : '');
    before ||= '\n';
    for (const item of data) {
      write(`${before}${indented(jsonOf(item))}`);
      before = ',\n';
    }
  }
  write(`${before === ',\n' ? '\n  ' : ''}],\n  "hasMore": false\n}\n`);
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}
