/// The page's overview of a cache.
struct InspectorSummary: Encodable {
  let cache: CacheSummary
  let isWritable: Bool
  let version = ToolVersion.current
}
