import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { webhooks } from '../../sdk/src/index.ts';
import { startStub } from './stub-server.ts';
import { runWith } from './terminal.ts';

const FIRST = webhooks.sampleEvent('payment.provider_pending');
const SECOND = webhooks.sampleEvent('payment.paid');
const page = (...data: unknown[]) => ({ status: 200, body: { object: 'list', data, hasMore: false } });
const AWAY = { status: 503, body: { ok: false, error: { code: 'unavailable', message: 'The service is stopping.' } } };
const REFUSED = { status: 401, body: { ok: false, error: { code: 'unauthorized', message: 'No key.' } } };

/** Runs `events feed` against a service that gives these answers, one a poll, and is interrupted after the last. */
async function follow(answers: readonly { status: number; body: unknown }[], ...options: string[]) {
  const asked: (string | null)[] = [];
  const interruption = new AbortController();
  await using service = await startStub((request, response) => {
    asked.push(new URL(request.url!, 'http://localhost').searchParams.get('after'));
    const { status, body } = answers[asked.length - 1]!;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const terminal = {
    url: service.url,
    interruption: () => interruption.signal,
    sleep: async () => {
      if (asked.length === answers.length) interruption.abort();
    },
  };
  return { ...(await runWith(terminal, 'events', 'feed', '--follow', ...options)), asked };
}

describe('tillway events feed --follow', () => {
  it('waits for an unavailable service, reports it once, and continues after the last shown event', async () => {
    const { code, stdout, stderr, asked } = await follow([page(FIRST), AWAY, AWAY, page(SECOND), page()]);
    assert.equal(code, 0);
    assert.deepEqual(asked, ['', FIRST.id, FIRST.id, FIRST.id, SECOND.id]);
    assert.equal(stderr.match(/is away/g)?.length, 1);
    assert.match(stdout, new RegExp(`${FIRST.id}[^]*${SECOND.id}[^]*go on: --after ${SECOND.id}\n$`));
  });

  it('exits if it is rejected, and prints the position to continue from', async () => {
    const { code, stdout, stderr } = await follow([page(FIRST), REFUSED]);
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`go on: --after ${FIRST.id}\n$`));
    assert.match(stderr, /No key\./);
  });

  it('prints a document a line with --json, errors included', async () => {
    const { stdout } = await follow([page(FIRST), REFUSED], '--json');
    const documents = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id?: string; ok?: boolean });
    assert.deepEqual(
      documents.map(({ id, ok }) => id ?? ok),
      [FIRST.id, false],
    );
  });

  it('does not wait for a service that never answered', async () => {
    const { code } = await follow([AWAY]);
    assert.equal(code, 1);
  });
});
