import { INVARIANTS } from '../store/invariants.ts';
import type { AddressBook } from '../providers/provider.ts';
import type { ExaminedDatabase } from '../store/database.ts';
import { jsonOf } from './command-context.ts';
import { plain } from './cells.ts';

/** Read-only queries of `tillway doctor`. */
export type Examined = Pick<ExaminedDatabase, 'violations' | 'integrity'>;

/** Result of a check. `unread`: the query failed, for example on a damaged table. `not_asked`: the check is not possible. */
type Outcome = 'ok' | 'broken' | 'unread' | 'not_asked';

interface Finding {
  outcome: Outcome;
  name: string;
  says: string;
  /** Ids of violating records, or messages of the database; empty if the invariant holds. */
  violations: string[];
  /** True if the query found more violations than its limit. */
  more: boolean;
  /** Reason why a check was not possible. */
  note?: string;
}

// COUNTED limits the memory for a badly broken database; the text shows only SHOWN violations.
const COUNTED = 1000;
const SHOWN = 5;
const INTEGRITY = {
  name: 'database_integrity',
  says: 'The database files are undamaged, and every foreign key has its row.',
};
const DERIVATION = {
  name: 'chain_derivation',
  says: 'Every stored address is derived from the public key that is configured for its wallet.',
};
const NAME_WIDTH = Math.max(...[INTEGRITY, DERIVATION, ...INVARIANTS].map(({ name }) => name.length));
const EVERY_ADDRESS = `SELECT wallet || ' ' || address_index || ' ' || address AS id FROM chain_addresses
  WHERE address IS NOT NULL ORDER BY wallet, address_index LIMIT ?1`;

const WORD: Record<Outcome, string> = { ok: 'ok', broken: 'BROKEN', unread: 'UNREAD', not_asked: '-' };

/** Checks all invariants. Returns exit code 0 if all hold, 1 if one is broken or its query fails. Rejects if all queries fail. */
export async function doctor(
  store: Examined,
  write: (text: string) => void,
  { json = false, database, books }: { json?: boolean; database: string; books?: readonly AddressBook[] },
): Promise<0 | 1> {
  if (!json) write(`Database: ${plain(database)}\n`);
  const findings: Finding[] = [];
  for await (const finding of examine(store, books)) {
    findings.push(finding);
    if (!json) write(lineOf(finding));
  }
  const checked = findings.filter(({ outcome }) => outcome !== 'not_asked').length;
  const broken = findings.filter(isBroken).length;
  write(json ? documentOf({ database, asked: checked, broken }, findings) : `${summaryOf(checked, broken)}\n`);
  return broken === 0 ? 0 : 1;
}

/** Runs all checks. File integrity comes first, because damaged files can make the other queries fail. */
async function* examine(store: Examined, books: readonly AddressBook[] | undefined): AsyncGenerator<Finding> {
  let answers = 0;
  let failure: unknown;
  const questions = [
    { ...INTEGRITY, ask: () => store.integrity() },
    ...INVARIANTS.map(({ name, says, sql }) => ({ name, says, ask: () => store.violations(sql, COUNTED + 1) })),
  ];
  for (const { name, says, ask } of questions) {
    try {
      const found = await ask();
      const outcome = found === undefined ? 'not_asked' : found.length === 0 ? 'ok' : 'broken';
      if (found !== undefined) answers++;
      const note = found === undefined ? { note: "use the database server's own tools" } : {};
      const more = (found?.length ?? 0) > COUNTED;
      yield { outcome, name, says, violations: found?.slice(0, COUNTED) ?? [], more, ...note };
    } catch (error) {
      failure ??= error;
      yield { outcome: 'unread', name, says, violations: [(error as Error).message], more: false };
    }
  }
  if (answers === 0) throw failure;
  if (books) yield* derivations(store, books);
}

/** Derives all stored addresses again. A wallet without a configured key cannot be checked. */
async function* derivations(store: Examined, books: readonly AddressBook[]): AsyncGenerator<Finding> {
  const none = { ...DERIVATION, violations: [], more: false };
  try {
    const rows = (await store.violations(EVERY_ADDRESS, Number.MAX_SAFE_INTEGER)).map((row) => row.split(' '));
    for (const [wallet, given] of Map.groupBy(rows, ([name]) => name!)) {
      const book = books.find((one) => one.wallet === wallet);
      if (!book) {
        yield { ...none, outcome: 'not_asked', note: `the public key of the wallet ${wallet} is not configured` };
        continue;
      }
      const wrong = given.filter(([, index, address]) => book.address(Number(index)) !== address);
      const violations = wrong.map((parts) => parts.join(' '));
      const more = violations.length > COUNTED;
      yield { ...none, outcome: wrong.length > 0 ? 'broken' : 'ok', violations: violations.slice(0, COUNTED), more };
    }
  } catch (error) {
    yield { ...none, outcome: 'unread', violations: [(error as Error).message] };
  }
}

function isBroken({ outcome }: Finding): boolean {
  return outcome === 'broken' || outcome === 'unread';
}

function lineOf(finding: Finding): string {
  const { outcome, name, says, violations, more, note = '' } = finding;
  const line = `${WORD[outcome].padEnd(6)}  ${name.padEnd(NAME_WIDTH)}  ${says}\n`;
  if (outcome === 'not_asked') return `${line}        ${name}: not checked; ${plain(note)}\n`;
  if (!isBroken(finding)) return line;
  const hidden = violations.length - SHOWN;
  const rest = hidden > 0 ? ` and ${more ? 'at least ' : ''}${hidden} more` : '';
  return `${line}        ${name}: ${plain(violations.slice(0, SHOWN).join(', '))}${rest}\n`;
}

function summaryOf(checked: number, broken: number): string {
  if (broken === 0) return `All ${checked} invariants hold.`;
  return `${broken} of ${checked} invariants ${broken === 1 ? 'is' : 'are'} broken. Nothing was changed. Read docs/doctor.md before you repair anything.`;
}

function documentOf(summary: { database: string; asked: number; broken: number }, findings: Finding[]): string {
  const invariants = findings.map((finding) => ({ ok: !isBroken(finding), ...finding }));
  return `${jsonOf({ ok: summary.broken === 0, ...summary, invariants })}\n`;
}
