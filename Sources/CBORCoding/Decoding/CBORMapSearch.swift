struct CBORMapSearch: BitwiseCopyable {
  /// The map's serial; 0 for none.
  var serial: UInt64 = 0
  /// The last found value, where the next search begins, or `.absent`.
  var lastValue = CBORPosition.absent
  /// Entries up to and including the last value.
  var passed: UInt32 = 0
  var hasIndex = false
}
