import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { LEDGER_ENDPOINTS, type exportQuery, renderBalances, renderEntry } from '../contract/ledger-contract.ts';
import { pageOf } from '../contract/list-query.ts';
import { instantFrom } from '../contract/settlement-contract.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { createTurns } from '../operations/in-turn.ts';
import { ledgerBalances } from '../operations/ledger/ledger-balances.ts';
import { exportJournal, listJournal } from '../operations/ledger/read-journal.ts';
import type { JournalFilter } from '../store/ledger-port.ts';
import { assertKeyActive } from './admission.ts';
import { apiPart, defined, renderList } from './api-part.ts';

/** Endpoints of the ledger: balances, entries and the CSV export. */
export const ledgerApi = apiPart((serve) => {
  const inTurn = createTurns();
  let isExporting = false;

  serve(LEDGER_ENDPOINTS.getLedgerBalances, async ({ deps, query: { environment, at } }) => {
    const read = () => ledgerBalances(deps, { environment, at: instantFrom(at) });
    // Computes past balances one request at a time, because several concurrent sums would delay all other requests.
    return renderBalances(await (at === undefined ? read() : inTurn(read)));
  });
  serve(LEDGER_ENDPOINTS.listLedgerEntries, async ({ deps, query }) =>
    renderList(await listJournal(deps, filterOf(query), pageOf(query)), renderEntry),
  );
  serve(LEDGER_ENDPOINTS.exportLedger, async ({ deps, query, reply }) => {
    const parts = exportJournal(deps, filterOf(query));
    if (isExporting) throw exportInProgress(reply);
    isExporting = true;
    // Reads the first part before the response begins, so that an early error gives an error response. A later error closes the
    // connection, so that the client does not treat an incomplete journal as complete.
    const first = await parts.next().catch((error: unknown) => {
      isExporting = false;
      throw error;
    });
    const text = Readable.from(after(first, parts, () => assertKeyActive(deps)));
    // The stream closes when it was sent completely, or when the client disconnects.
    text.once('close', () => (isExporting = false));
    reply.header('content-disposition', 'attachment; filename="tillway-ledger.csv"');
    return text;
  });
});

const EXPORT_RETRY_SECONDS = 5;

function exportInProgress(reply: FastifyReply): GatewayError {
  reply.header('retry-after', EXPORT_RETRY_SECONDS);
  return new GatewayError('rate_limited', 'Another export of the ledger is in progress.', {
    suggestion: 'Resend after the seconds in Retry-After.',
  });
}

function filterOf(query: z.output<typeof exportQuery>): JournalFilter {
  const { account, kind, sessionId, paymentId, environment } = query;
  const range = { from: instantFrom(query.from), until: instantFrom(query.until) };
  return defined({ account, kind, sessionId, paymentId, environment, ...range });
}

/** Streams the journal. Before each part, `assertAdmitted` throws if the API key was revoked, which ends the stream. */
async function* after(
  first: IteratorResult<string>,
  rest: AsyncGenerator<string>,
  assertAdmitted: () => Promise<void>,
): AsyncGenerator<string> {
  if (!first.done) yield first.value;
  for await (const part of rest) {
    await assertAdmitted();
    yield part;
  }
}
