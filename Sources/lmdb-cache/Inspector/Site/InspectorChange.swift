/// What the inspector can do to a cache.
enum InspectorChange: Equatable {
  case removal(key: String)
  case trim(TrimLimits)
}
