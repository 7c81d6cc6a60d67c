import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { LEDGER_ENDPOINTS, balancesQuery, entriesQuery, exportQuery } from '../contract/ledger-endpoints.ts';
import { renderBalances, renderEntry } from '../contract/ledger.ts';
import { inputReader } from '../contract/problems.ts';
import { pageOf } from '../contract/queries.ts';
import { instantFrom } from '../contract/settlements.ts';
import { ledgerBalances } from '../operations/ledger/balances.ts';
import { exportJournal } from '../operations/ledger/export.ts';
import { listJournal } from '../operations/ledger/journal.ts';
import type { JournalFilter } from '../store/ledger.ts';
import { assertStillKnown } from './access.ts';
import type { AppDeps } from './app.ts';
import { defined, renderList, serve, serveAs } from './gateway.ts';

const readBalancesQuery = inputReader(balancesQuery);
const readEntriesQuery = inputReader(entriesQuery);
const readExportQuery = inputReader(exportQuery);

/** The books. */
export function ledgerApi(app: FastifyInstance, all: AppDeps): void {
  const hint = `Parameters: GET ${all.urls.base}/openapi.json`;

  serve(app, all, LEDGER_ENDPOINTS.getBalances, async (request, _reply, deps) => {
    const { environment, at } = readBalancesQuery.read(request.query, hint);
    return renderBalances(await ledgerBalances(deps, { environment, at: instantFrom(at) }));
  });
  serve(app, all, LEDGER_ENDPOINTS.listEntries, async (request, _reply, deps) => {
    const query = readEntriesQuery.read(request.query, hint);
    return renderList(await listJournal(deps, filterOf(query), pageOf(query)), renderEntry);
  });
  serveAs(
    app,
    all,
    LEDGER_ENDPOINTS.exportEntries,
    'text/csv; charset=utf-8; header=present',
    async (request, reply, deps) => {
      const parts = exportJournal(deps, filterOf(readExportQuery.read(request.query, hint)));
      // What is wrong at once is still an error of the API; later the connection is cut, so that a part is not taken for all.
      const first = await parts.next();
      reply.header('content-disposition', 'attachment; filename="tillway-ledger.csv"');
      return Readable.from(after(first, parts, () => assertStillKnown(deps, request)));
    },
  );
}

type JournalQuery = ReturnType<typeof readExportQuery.read>;

function filterOf(query: JournalQuery): JournalFilter {
  const { account, kind, sessionId, paymentId, environment, from, until } = query;
  return defined({
    account,
    kind,
    sessionId,
    paymentId,
    environment,
    from: instantFrom(from),
    until: instantFrom(until),
  });
}

/** `isLet` refuses by throwing: whoever reads slowly must not go on with a key that was revoked. */
async function* after(
  first: IteratorResult<string>,
  rest: AsyncGenerator<string>,
  isLet: () => Promise<void>,
): AsyncGenerator<string> {
  if (!first.done) yield first.value;
  for await (const part of rest) {
    await isLet();
    yield part;
  }
}
