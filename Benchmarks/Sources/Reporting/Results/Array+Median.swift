extension [Double] {
  /// The middle element, or the mean of the middle two. The array must not be empty.
  public var median: Double {
    let sorted = sorted()
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2
  }
}
