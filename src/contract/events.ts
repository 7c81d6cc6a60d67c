/** An event as it is stored: `body` is the JSON text that every delivery of it sends. */
interface StoredEvent {
  body: string;
}

/** The list envelope as JSON text, in which every event stands byte for byte as its deliveries send it. */
export function eventListText({ items, hasMore }: { items: readonly StoredEvent[]; hasMore: boolean }): string {
  return `{"object":"list","data":[${items.map(({ body }) => body).join(',')}],"hasMore":${hasMore}}`;
}
