@testable import GarageStorage

/// What the garage says of the error that `body` throws: also where that is a `DecodingError`. `nil` if it throws none, or one
/// of somebody else.
func failure<R>(of body: () throws -> R) -> GarageError? {
  do {
    _ = try body()
    return nil
  } catch {
    return GarageError(error)
  }
}
