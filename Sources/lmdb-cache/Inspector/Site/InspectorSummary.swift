/// What the page shows of a cache as a whole.
struct InspectorSummary: Encodable {
  let cache: CacheSummary
  let isWritable: Bool
  let version = ToolVersion.current
}
