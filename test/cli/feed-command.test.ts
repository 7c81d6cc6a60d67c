import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { webhooks } from '../../sdk/src/index.ts';
import { startServer } from '../support/http-server.ts';
import { runWith } from './terminal.ts';

const FIRST = webhooks.sampleEvent('payment.provider_pending');
const SECOND = webhooks.sampleEvent('payment.paid');
const page = (...data: unknown[]) => ({ status: 200, body: { object: 'list', data, hasMore: false } });
const UNAVAILABLE = {
  status: 503,
  body: { ok: false, error: { code: 'unavailable', message: 'The service is stopping.' } },
};
const UNAUTHORIZED = { status: 401, body: { ok: false, error: { code: 'unauthorized', message: 'No key.' } } };

/** Runs `events feed --follow` against a service that gives one of these responses per poll; interrupts it after the last. */
async function followFeed(answers: readonly { status: number; body: unknown }[], ...options: string[]) {
  const cursors: (string | null)[] = [];
  const interruption = new AbortController();
  await using service = await startServer((request, response) => {
    cursors.push(new URL(request.url!, 'http://localhost').searchParams.get('after'));
    const { status, body } = answers[cursors.length - 1]!;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const terminal = {
    url: service.url,
    interruption: () => interruption.signal,
    sleep: async () => {
      if (cursors.length === answers.length) interruption.abort();
    },
  };
  return { ...(await runWith(terminal, 'events', 'feed', '--follow', ...options)), cursors };
}

describe('tillway events feed --follow', () => {
  it('`tillway events feed --follow` waits for an unavailable service, reports it once, and continues after the last shown event', async () => {
    const { code, stdout, stderr, cursors } = await followFeed([
      page(FIRST),
      UNAVAILABLE,
      UNAVAILABLE,
      page(SECOND),
      page(),
    ]);
    assert.equal(code, 0);
    assert.deepEqual(cursors, ['', FIRST.id, FIRST.id, FIRST.id, SECOND.id]);
    assert.equal(stderr.match(/is unreachable/g)?.length, 1);
    assert.match(stdout, new RegExp(`${FIRST.id}[^]*${SECOND.id}[^]*continue: --after ${SECOND.id}\n$`));
  });

  it('`tillway events feed --follow` exits if the service rejects a request, and prints the position to continue from', async () => {
    const { code, stdout, stderr } = await followFeed([page(FIRST), UNAUTHORIZED]);
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`continue: --after ${FIRST.id}\n$`));
    assert.match(stderr, /No key\./);
  });

  it('`tillway events feed --follow` prints one JSON document per line with --json, also for errors', async () => {
    const { stdout } = await followFeed([page(FIRST), UNAUTHORIZED], '--json');
    const documents = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id?: string; ok?: boolean });
    assert.deepEqual(
      documents.map(({ id, ok }) => id ?? ok),
      [FIRST.id, false],
    );
  });

  it('`tillway events feed --follow` exits if the service is unavailable at the first request', async () => {
    const { code, stdout } = await followFeed([UNAVAILABLE], '--after', FIRST.id);
    assert.equal(code, 1);
    assert.equal(stdout, '');
  });
});
