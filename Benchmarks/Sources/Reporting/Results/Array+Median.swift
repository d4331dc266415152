extension [Double] {
  /// The middle one, or the mean of the two in the middle. Of at least one number.
  public var median: Double {
    let sorted = sorted()
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2
  }
}
