import { isUtf8 } from 'node:buffer';
import type { FastifyError } from 'fastify';
import { SETTLEMENT_ENDPOINTS, instantFrom, renderImport, renderSettlement } from '../contract/settlement-contract.ts';
import { GatewayError } from '../domain/gateway-error.ts';
import { importSettlements } from '../operations/settlement/import-settlements.ts';
import { recordPayout } from '../operations/settlement/settle-payment.ts';
import { MAX_FILE_BYTES } from '../operations/settlement/parse-settlement-file.ts';
import { apiPart } from './api-part.ts';
import type { Part } from './app.ts';
import { sendError } from './error-responses.ts';

/** Endpoints that record the payout of one payment, or all payouts of a CSV file. */
export const settlementApi: Part = (app, unrestricted) => {
  payouts(app, unrestricted);
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const limits = { parseAs: 'buffer' as const, bodyLimit: MAX_FILE_BYTES };
    scope.addContentTypeParser<Buffer>('text/csv', limits, (_request, body, done) => {
      if (isUtf8(body)) return done(null, body.toString('utf8'));
      const suggestion = 'Save it as UTF-8; then resend.';
      done(new GatewayError('invalid_input', 'The file is not UTF-8.', { suggestion }));
    });
    scope.setErrorHandler((error: FastifyError, request, reply) => sendError(asFileError(error), request, reply));
    imports(scope, unrestricted);
  });
};

const payouts = apiPart((serve) => {
  serve(SETTLEMENT_ENDPOINTS.settlePayment, async ({ deps, body: { amount, reference, settledAt }, param }) => {
    const payout = { amount, reference, settledAt: instantFrom(settledAt) };
    return renderSettlement(await recordPayout(deps, param('paymentId'), payout));
  });
});

const imports = apiPart((serve) => {
  serve(SETTLEMENT_ENDPOINTS.importSettlements, async ({ deps, query: { dryRun, environment }, request }) => {
    const text = typeof request.body === 'string' ? request.body : '';
    return renderImport(await importSettlements(deps, text, { environment, dryRun: dryRun === 'true' }));
  });
});

/** Converts errors of the body parser to errors about a CSV file. */
function asFileError(error: FastifyError): Error {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new GatewayError('payload_too_large', 'The file is larger than 1 MiB.', {
        suggestion: 'Split it into files of at most 1048576 bytes, each with the header; then send them one by one.',
      });
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return new GatewayError('unsupported_media_type', 'The body must be a CSV file.', {
        suggestion: 'Send the file with the header Content-Type: text/csv.',
      });
    default:
      return error;
  }
}
