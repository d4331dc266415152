#if !canImport(Darwin)
  import Foundation
  import FoundationObjects

  extension FoundationCoding {
    static let measures: [FoundationCoding] =
      [
        make(NSMeasurement.self) { measurement, coder in
          coder.encode(measurement.doubleValue, forKey: "value")
          coder.encode(measurement.unit as Any?, forKey: "unit")
        },
        make(Unit.self) { unit, coder in
          coder.encode(unit.symbol as String?, forKey: "symbol")
        },
        make(UnitConverterLinear.self) { converter, coder in
          coder.encode(converter.coefficient, forKey: "coefficient")
          coder.encode(converter.constant, forKey: "constant")
        },
      ] + DimensionClass.all.map { dimension($0) }

    private static func dimension(_ dimension: DimensionClass) -> FoundationCoding {
      make(dimension.type) { unit, coder in
        coder.encode(unit.symbol as String?, forKey: "symbol")
        guard !dimension.known.contains(where: { $0.symbol == unit.symbol && $0 == unit }) else { return }
        coder.encode(unit.converter as Any?, forKey: "converter")
      }
    }
  }
#endif
