/** Request for a page of a list, sorted newest first: at most `limit` records after or before the record with the given id. */
export interface Page {
  limit: number;
  startingAfter?: string;
  endingBefore?: string;
}

export interface PageResult<Item> {
  items: Item[];
  hasMore: boolean;
}
