/// What a cache has under a key for a read through a loader.
enum LoadStanding<V> {
  /// To be served as it is.
  case fresh(V?)
  /// To be served while it is loaded anew.
  case due(V?)
  /// To be served only if a load fails.
  case fallback(V)
  case missing
}
