import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

/** A style sheet or script of ours; its path changes with its content, so that browsers may keep it for good. */
export interface Asset {
  /** For example `/assets/checkout-3f2a91c0d4e5.css`. */
  path: string;
  /** What a browser compares the content with before it uses it: `sha256-` and base64. */
  integrity: string;
  type: string;
  body: Buffer;
  brotli: Buffer;
}

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};
const HASH_LENGTH = 12;
// The best quality takes tens of milliseconds of every start, for a few bytes.
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

/** Reads a `.css` or `.js` file once, at start. */
export function loadAsset(file: URL): Asset {
  const body = readFileSync(file);
  const extension = extname(file.pathname);
  const hash = createHash('sha256').update(body).digest();
  return {
    path: `/assets/${basename(file.pathname, extension)}-${hash.toString('hex').slice(0, HASH_LENGTH)}${extension}`,
    integrity: `sha256-${hash.toString('base64')}`,
    type: TYPES[extension]!,
    body,
    brotli: brotliCompressSync(body, BROTLI),
  };
}

export function serveAssets(app: FastifyInstance, assets: readonly Asset[]): void {
  for (const { path, type, body, brotli } of assets) {
    app.get(path, (request, reply) => {
      const compressed = /\bbr\b/.test(request.headers['accept-encoding'] ?? '');
      if (compressed) reply.header('content-encoding', 'br');
      return reply
        .headers({ 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' })
        .type(type)
        .send(compressed ? brotli : body);
    });
  }
}
