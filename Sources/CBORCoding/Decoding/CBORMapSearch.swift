/// How far the search in a map has come.
struct CBORMapSearch: BitwiseCopyable {
  /// Of the map, or 0 for none.
  var serial: UInt64 = 0
  /// The value that was found last; the next search begins behind it. Absent: none was.
  var lastValue = CBORPosition.absent
  /// How many entries there are up to and including the last value.
  var passed: UInt32 = 0
  /// Whether the map has an index in the state.
  var hasIndex = false
}
