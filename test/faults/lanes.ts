/** Handles all items, at most `lanes` at a time. */
export async function inLanes<Item>(
  lanes: number,
  items: Iterable<Item>,
  handle: (item: Item) => Promise<unknown>,
): Promise<void> {
  const queue = [...items].values();
  const lane = async (): Promise<void> => {
    for (const item of queue) await handle(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
