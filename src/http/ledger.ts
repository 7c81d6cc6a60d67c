import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { LEDGER_ENDPOINTS, balancesQuery, entriesQuery, exportQuery } from '../contract/ledger-endpoints.ts';
import { renderBalances, renderEntry } from '../contract/ledger.ts';
import { inputReader } from '../contract/problems.ts';
import { pageOf } from '../contract/queries.ts';
import { instantFrom } from '../contract/settlements.ts';
import { GatewayError } from '../domain/errors.ts';
import { createTurns } from '../operations/in-turn.ts';
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
  const inTurn = createTurns();
  let isExporting = false;
  const hint = `Parameters: GET ${all.urls.base}/openapi.json`;

  serve(app, all, LEDGER_ENDPOINTS.getBalances, async (request, _reply, deps) => {
    const { environment, at } = readBalancesQuery.read(request.query, hint);
    const asked = () => ledgerBalances(deps, { environment, at: instantFrom(at) });
    // Each read sums entries in parts, between other events. Concurrent reads would put several parts between two events.
    return renderBalances(await (at === undefined ? asked() : inTurn(asked)));
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
      if (isExporting) throw exportInProgress(reply);
      isExporting = true;
      // What is wrong at once is still an error of the API; later the connection is cut, so that a part is not taken for all.
      const first = await parts.next().catch((error: unknown) => {
        isExporting = false;
        throw error;
      });
      const text = Readable.from(after(first, parts, () => assertStillKnown(deps, request)));
      // The stream closes after it is sent, or when the client disconnects.
      text.once('close', () => (isExporting = false));
      reply.header('content-disposition', 'attachment; filename="tillway-ledger.csv"');
      return text;
    },
  );
}

const EXPORT_RETRY_SECONDS = 5;

function exportInProgress(reply: FastifyReply): GatewayError {
  reply.header('retry-after', EXPORT_RETRY_SECONDS);
  return new GatewayError('rate_limited', 'Another export of the ledger is in progress.', {
    suggestion: 'Resend after the seconds in Retry-After.',
  });
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
