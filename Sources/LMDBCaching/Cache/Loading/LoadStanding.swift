/// The cached state of a key for a read through a loader.
enum LoadStanding<V> {
  /// Serve it.
  case fresh(V?)
  /// Serve it and reload.
  case due(V?)
  /// Serve it only if a load fails.
  case fallback(V)
  case missing
}
