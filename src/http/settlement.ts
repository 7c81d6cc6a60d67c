import { isUtf8 } from 'node:buffer';
import type { FastifyError, FastifyInstance } from 'fastify';
import { inputReader } from '../contract/problems.ts';
import { SETTLEMENT_ENDPOINTS, importQuery } from '../contract/settlement-endpoints.ts';
import { instantFrom, renderImport, renderSettlement, settleRequest } from '../contract/settlements.ts';
import { GatewayError } from '../domain/errors.ts';
import { importSettlements } from '../operations/settlement/import-settlements.ts';
import { recordPayout } from '../operations/settlement/record-payout.ts';
import { MAX_FILE_BYTES } from '../operations/settlement/settlement-file.ts';
import type { AppDeps } from './app.ts';
import { sendError } from './errors.ts';
import { param, serve } from './gateway.ts';

const readSettleRequest = inputReader(settleRequest);
const readImportQuery = inputReader(importQuery);

/** What has been paid out to the merchant. */
export function settlementApi(app: FastifyInstance, all: AppDeps): void {
  const hint = `Parameters: GET ${all.urls.base}/openapi.json`;

  serve(app, all, SETTLEMENT_ENDPOINTS.settlePayment, async (request, _reply, deps) => {
    const { amount, reference, settledAt } = readSettleRequest.read(request.body ?? {}, hint);
    const told = { amount, reference, settledAt: instantFrom(settledAt) };
    return renderSettlement(await recordPayout(deps, param(request, 'paymentId'), told));
  });

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    const limits = { parseAs: 'buffer' as const, bodyLimit: MAX_FILE_BYTES };
    scope.addContentTypeParser<Buffer>('text/csv', limits, (_request, body, done) => {
      if (isUtf8(body)) done(null, body.toString('utf8'));
      else
        done(
          new GatewayError('invalid_input', 'The file is not UTF-8.', { suggestion: 'Save it as UTF-8; then resend.' }),
        );
    });
    scope.setErrorHandler((error: FastifyError, request, reply) => sendError(asFileError(error), request, reply));
    serve(scope, all, SETTLEMENT_ENDPOINTS.importSettlements, async (request, _reply, deps) => {
      const { dryRun, environment } = readImportQuery.read(request.query, hint);
      const text = typeof request.body === 'string' ? request.body : '';
      return renderImport(await importSettlements(deps, text, { environment, dryRun: dryRun === 'true' }));
    });
  });
}

/** Elsewhere these words are about JSON. */
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
