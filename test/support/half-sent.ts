import { request } from 'node:http';

/** A request that the service is processing although its body is incomplete. */
export interface HalfSent {
  /** Sends the rest of the body. */
  finish(): Promise<{ status: number; text: string }>;
}

/** Sends all bytes of a body except the last. */
export async function sendHalf(
  url: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string },
): Promise<HalfSent> {
  const length = String(Buffer.byteLength(body));
  // With `100 Continue`, the service confirms that it is processing the request.
  const sent = request(url, { method, headers: { ...headers, 'content-length': length, expect: '100-continue' } });
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    sent.on('error', reject).on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode!, text }));
    });
  });
  answered.catch(() => {});
  await new Promise((resolve, reject) => {
    sent.on('continue', resolve).on('error', reject).flushHeaders();
  });
  sent.write(body.slice(0, -1));
  return {
    finish() {
      sent.end(body.slice(-1));
      return answered;
    },
  };
}
